// SPDX-License-Identifier: MIT
// Bounds the code that merged functions add to their callers: functions beyond a limit are apart.
#include <algorithm>
#include <unordered_map>

#include "draft/checker.hh"
#include "draft/parser.hh"

namespace heddle::draft {
namespace {

/// Each call of a merged function copies its code, and the code of all that is merged into it. A
/// function with several callers and more statements than this is apart instead, so the code of
/// a program grows with its calls, and not with the ways through them.
constexpr std::uint64_t merged_code_max = 200;
/// The limit for functions that are declared `merged`; more is an error.
constexpr std::uint64_t declared_merged_max = 5000;
/// A function's own code, with all that is merged into it, has at most this many statements;
/// further callees are apart. So the passes, which look at one function's code, take time that
/// grows with the program and no faster.
constexpr std::uint64_t function_code_max = 500;

void decide_merged(function& f, std::uint64_t code, std::uint32_t depth, std::size_t calls,
                   source::diagnostics& report) {
  const function_item& x = *f.decl;
  const bool stays = x.is_merged() || f.takes_action();
  const std::uint64_t most = f.takes_action() ? expanded_code_max : declared_merged_max;
  if (depth > nesting_max || (stays && code > most)) {
    if (stays)
      report
          .error("D0007", x.name_at,
                 depth > nesting_max
                     ? quoted(f.name) + " has merged functions to a depth of more than " +
                           std::to_string(nesting_max)
                     : quoted(f.name) + " has more than " + std::to_string(most) +
                           " statements, with the functions that are merged into it")
          .hint = x.is_merged() ? "delete 'merged'; each call then has a frame of its own"
                                : "a function that takes an action is always merged";
    f.form = function_form::apart;
    f.why = "merged functions are " + std::to_string(depth) + " deep in it";
  } else if (!stays && calls > 1 && code > merged_code_max) {
    f.form = function_form::apart;
    f.why = std::to_string(calls) + " callers, " + std::to_string(code) +
            " statements, with the functions that are merged into it";
  }
}

}  // namespace

void bound_merged_code(const std::vector<function*>& functions, source::diagnostics& report) {
  std::unordered_map<const function*, std::size_t> callers;
  for (const function* f : functions)
    for (const call_site& c : f->calls) ++callers[c.callee];
  struct visit {
    function* f;
    std::size_t call = 0;
    std::uint64_t code;
    std::uint32_t depth = 1;
  };
  struct merged {
    std::uint64_t code = 0;
    std::uint32_t depth = 0;
  };
  std::unordered_map<const function*, merged> known;
  std::vector<visit> path;
  for (function* root : functions) {
    if (!known.try_emplace(root).second) continue;
    path.push_back({root, 0, root->size});
    while (!path.empty()) {
      visit& v = path.back();
      if (v.call < v.f->calls.size()) {
        function* const callee = v.f->calls[v.call].callee;
        const bool entered = !callee->decl->is_extern() && known.try_emplace(callee).second;
        if (entered) {
          path.push_back({callee, 0, callee->size});
          continue;  // the call is counted when its function is known
        }
        ++v.call;
        if (callee->form != function_form::merged) continue;
        const merged& inner = known[callee];
        if (!callee->decl->is_merged() && !callee->takes_action() &&
            v.code + inner.code > function_code_max) {
          callee->form = function_form::apart;
          callee->why = quoted(v.f->name) + " has " + std::to_string(v.code) +
                        " statements already, with the functions that are merged into it";
          continue;
        }
        v.code = std::min(v.code + inner.code, expanded_code_max * 2);
        v.depth = std::max(v.depth, inner.depth + 1);
        continue;
      }
      function& f = *v.f;
      const auto found = callers.find(&f);
      const std::size_t calls = found == callers.end() ? 0 : found->second;
      known[&f] = {v.code, v.depth};
      if (f.form == function_form::merged) decide_merged(f, v.code, v.depth, calls, report);
      path.pop_back();
    }
  }
}

}  // namespace heddle::draft

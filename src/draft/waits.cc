// SPDX-License-Identifier: MIT
// Finds the functions that may wait: a fixpoint over the calls. Then the form of each function
// (plain, merged, apart), recursion, and the rules about loops, nowait and defer.
#include <algorithm>
#include <utility>

#include "draft/checker.hh"
#include "draft/waits_action.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

/// A waiting function of at most this many statements is merged into each of its callers.
constexpr std::uint32_t merged_statements_max = 6;

std::string place(const expr& e) {
  return e.at.file->path() + ":" + std::to_string(e.at.file->line_of(e.at.begin));
}

std::string shown_operation(const expr& e) {
  const call_expr* const c = e.get<call_expr>();
  if (e.means == meaning::action) return "its action " + c->action()->name;
  if (c != nullptr && c->op != nullptr) return c->op->full_name();
  return c != nullptr && c->callee != nullptr ? c->callee->name : "a wait";
}

class finder {
 public:
  finder(program& p, source::diagnostics& report) : program_(p), report_(report) {}

  void run() {
    each_function([&](function& f) {
      if (f.decl->is_extern()) {
        f.waits = f.decl->is_blocking();
        return;
      }
      functions_.push_back(&f);
      walk(
          f.decl->body,
          [&](const expr& e) {
            if (e.waits && !f.waits) {
              f.waits = true;
              f.waits_at = &e;
            }
          },
          [&](const stmt& s) { f.waits = f.waits || waits_itself(s); });
      actions_.find(f);
    });
    // A function that is spawned has a frame, so who calls it waits for that frame.
    for (function* f : functions_)
      for (const call_site& c : f->calls)
        if (c.callee->spawned) c.callee->waits = true;
    for (bool changed = true; std::exchange(changed, false);) {
      changed = actions_.pass();
      for (function* f : functions_) {
        for (const call_site& c : f->calls) {
          if (f->waits || !c.callee->waits) continue;
          f->waits = true;
          f->waits_at = c.at;
          f->waits_through = c.callee;
          changed = true;
        }
      }
    }
    mark_calls();
    find_recursion();
    choose_forms();
    for (function* f : functions_) {
      check_rules(*f);
      mark_yielding_loops(*f);
    }
  }

 private:
  template <class F>
  void each_function(F&& use) {
    for (const auto& m : program_.modules)
      for (const auto& f : m->functions) use(*f);
  }

  /// Calls of functions that wait are waits themselves.
  void mark_calls() {
    for (function* f : functions_)
      for (const call_site& c : f->calls)
        if (c.callee->waits) c.at->waits = true;
    actions_.mark_calls();
  }

  /// Tarjan's components, without recursion of our own.
  void find_recursion() {
    std::unordered_map<function*, std::size_t> index;
    for (std::size_t i = 0; i != functions_.size(); ++i) index.emplace(functions_[i], i);
    const std::size_t n = functions_.size();
    std::vector<std::size_t> order(n, 0), low(n, 0);
    std::vector<bool> on_stack(n, false);
    std::vector<std::size_t> stack;
    std::size_t next = 1;
    struct visit {
      std::size_t node;
      std::size_t call;
    };
    for (std::size_t root = 0; root != n; ++root) {
      if (order[root] != 0) continue;
      std::vector<visit> path = {{root, 0}};
      order[root] = low[root] = next++;
      stack.push_back(root);
      on_stack[root] = true;
      while (!path.empty()) {
        auto& [node, call] = path.back();
        function& f = *functions_[node];
        if (call < f.calls.size()) {
          const auto found = index.find(f.calls[call++].callee);
          if (found == index.end()) continue;
          const std::size_t to = found->second;
          if (to == node) f.recursive = true;
          if (order[to] == 0) {
            order[to] = low[to] = next++;
            stack.push_back(to);
            on_stack[to] = true;
            path.push_back({to, 0});
          } else if (on_stack[to]) {
            low[node] = std::min(low[node], order[to]);
          }
          continue;
        }
        const std::size_t done = node;
        path.pop_back();
        if (!path.empty()) low[path.back().node] = std::min(low[path.back().node], low[done]);
        if (low[done] != order[done]) continue;
        std::vector<std::size_t> component;
        for (;;) {
          const std::size_t top = stack.back();
          stack.pop_back();
          on_stack[top] = false;
          component.push_back(top);
          if (top == done) break;
        }
        if (component.size() > 1)
          for (const std::size_t each : component) functions_[each]->recursive = true;
      }
    }
  }

  void choose_forms() {
    std::unordered_map<const function*, std::size_t> callers;
    for (const function* f : functions_)
      for (const call_site& c : f->calls) ++callers[c.callee];
    for (function* f : functions_) {
      const function_item& x = *f->decl;
      if (f->is_thread() || f->is_main()) {
        f->form = function_form::thread;
        continue;
      }
      if (f->takes_action()) {
        if (f->recursive || x.is_apart()) {
          auto& d = report_.error(
              "D1001", x.name_at,
              quoted(f->name) + (f->recursive ? " takes an action and calls itself"
                                              : " takes an action and cannot be apart"));
          d.hint = f->recursive ? "each call expands the function, so this would have no end"
                                : "delete 'apart'; each call expands the function";
        }
        f->form = function_form::merged;
        f->why = "it takes an action";
        continue;
      }
      if (!f->waits) {
        f->form = f->spawned ? function_form::apart : function_form::plain;
        if (f->spawned) f->why = "it is spawned";
        if ((x.is_apart() || x.is_merged()) && !f->spawned)
          report_
              .error("D0004", x.name_at,
                     "nothing in " + quoted(f->name) + " waits: it is an ordinary function")
              .hint = std::string("delete '") + (x.is_apart() ? "apart'" : "merged'");
        continue;
      }
      const std::size_t calls = callers[f];
      if (x.is_merged() && f->recursive) {
        report_.error("D1001", x.name_at, quoted(f->name) + " calls itself and cannot be merged")
            .hint = "delete 'merged'; each call then has a frame of its own";
      }
      if (x.is_merged() && f->spawned)
        report_.error("D1001", x.name_at, quoted(f->name) + " is spawned and cannot be merged")
            .hint = "delete 'merged'";
      if (f->recursive) {
        f->form = function_form::apart;
        f->why = "it calls itself";
      } else if (f->spawned) {
        f->form = function_form::apart;
        f->why = "it is spawned";
      } else if (x.is_apart() || x.is_merged()) {
        f->form = x.is_apart() ? function_form::apart : function_form::merged;
        f->why = "declared so";
      } else if (calls <= 1) {
        f->form = function_form::merged;
        f->why = calls == 1 ? "one caller" : "no caller here";
      } else if (f->size <= merged_statements_max) {
        f->form = function_form::merged;
        f->why = std::to_string(f->size) + " statements";
      } else {
        f->form = function_form::apart;
        f->why = std::to_string(calls) + " callers, " + std::to_string(f->size) + " statements";
      }
    }
    bound_merged_code(functions_, report_);
    bound_expanded_code(functions_, report_);
  }

  static const expr* first_wait(const block& b) {
    const expr* found = nullptr;
    walk(
        b,
        [&](const expr& e) {
          if (e.waits && found == nullptr) found = &e;
        },
        [](const stmt&) {});
    return found;
  }
  static bool waits_somewhere(const block& b) {
    bool any = first_wait(b) != nullptr;
    walk(b, [](const expr&) {}, [&](const stmt& s) { any |= waits_itself(s); });
    return any;
  }

  void report_wait(const char* code, const expr& e, const char* where) {
    auto& d = report_.error(code, e.at, "this waits, inside " + std::string(where));
    add_chain(d, e);
  }
  static void add_chain(source::diagnostic& d, const expr& e) {
    const call_expr* const call = e.get<call_expr>();
    const function* f = call != nullptr ? call->callee : nullptr;
    for (int depth = 0; f != nullptr && f->waits_at != nullptr && depth != 8; ++depth) {
      d.notes.push_back({f->waits_at->at, quoted(f->name) + " waits here"});
      f = f->waits_through;
    }
  }

  /// Something in the block leaves the function or the loop around it.
  static bool can_leave(const block& b) {
    bool leaves = false;
    walk(
        b,
        [&](const expr& e) {
          leaves |= e.is<try_expr>();
          return !e.is<action_expr>();  // a `try` in it leaves the action only
        },
        [&](const stmt& s) { leaves |= s.is<return_stmt>() || s.is<fail_stmt>(); });
    return leaves;
  }

  void check_rules(function& f) {
    walk(
        f.decl->body, [](const expr&) {},
        [&](const stmt& s) {
          if (const nowait_stmt* const x = s.get<nowait_stmt>()) {
            if (const expr* e = first_wait(x->body)) {
              report_wait("D0602", *e, "'nowait'");
            } else if (waits_somewhere(x->body)) {
              report_.error("D0602", s.at, "this waits, inside 'nowait'");
            }
          }
          if (const defer_stmt* const x = s.get<defer_stmt>()) check_defer(*x);
          const loop_stmt* const l = s.get<loop_stmt>();
          const while_stmt* const w = s.get<while_stmt>();
          const bool endless = l != nullptr ? l->endless : w != nullptr && leaves(s);
          if (!endless) return;
          const block& body = l != nullptr ? l->body : w->body;
          if (!can_leave(body) && !waits_somewhere(body))
            report_.error("D0601", s.at, "this loop never waits and never ends").hint =
                "leave it with break or return, or wait in it";
        });
  }

  void check_defer(const defer_stmt& x) {
    bool jumps = false;
    const auto look = [&](const stmt& inner) {
      if (inner.is<return_stmt>() || inner.is<fail_stmt>() || inner.is<break_stmt>() ||
          inner.is<continue_stmt>()) {
        if (!jumps)
          report_.error("D0603", inner.at,
                        "'defer' cannot leave the block: it is being left already");
        jumps = true;
      }
    };
    const auto tries = [&](const expr& e) {
      if (e.is<try_expr>() && !jumps) {
        report_.error("D0603", e.at, "'defer' cannot leave the block: it is being left already")
            .hint = "handle the error with 'or { }'";
        jumps = true;
      }
      return !e.is<action_expr>();
    };
    if (x.value) {
      walk(*x.value, tries, look);
      const expr* found = nullptr;
      walk(
          *x.value,
          [&](const expr& e) {
            if (e.waits && found == nullptr) found = &e;
          },
          [](const stmt&) {});
      if (found != nullptr) {
        auto& d = report_.error("D0603", found->at, "this waits, inside 'defer'");
        add_chain(d, *found);
        d.hint = "a cancelled thread could not wait here: write 'defer shield { ... }'";
      }
      return;
    }
    walk(x.body, tries, look);
  }

  program& program_;
  source::diagnostics& report_;
  std::vector<function*> functions_;
  action_waits actions_;
};

}  // namespace

void find_waits(program& p, source::diagnostics& report) { finder(p, report).run(); }

std::string explain_wait(const function& f) {
  if (!f.waits) return f.name + " does not wait";
  std::string out = f.name + " waits because it ";
  const function* at = &f;
  for (int depth = 0; depth != 8; ++depth) {
    if (at->waits_at == nullptr) {
      out += at->decl->is_blocking() ? "runs in the pool"
             : at->spawned           ? "is spawned, and runs in a frame of its own"
                                     : "has an any, a wait or a scope";
      return out;
    }
    if (at->waits_through == nullptr) {
      out += "calls " + shown_operation(*at->waits_at) + " (" + place(*at->waits_at) + ")";
      return out;
    }
    out += "calls " + at->waits_through->name + " (" + place(*at->waits_at) + "), which ";
    at = at->waits_through;
  }
  return out + "...";
}

}  // namespace heddle::draft

// SPDX-License-Identifier: MIT
// Bounds the code of functions whose calls expand actions: each call of a function that takes one
// copies the function's code, and the action's code once for each call of it there.
#include <algorithm>

#include "draft/checker.hh"
#include "draft/parser.hh"
#include "draft/walk.hh"

namespace heddle::draft {
namespace {

/// Counts the statements that lower.cc will make of one function, call by call. It ends at the
/// limit, so the time does not grow with what the code would be.
class expansion {
 public:
  /// Whether the function stays within the limit.
  bool fits(const function& f) {
    count(f.decl->body, nullptr);
    return !too_large_ && !too_deep_;
  }
  [[nodiscard]] bool too_deep() const noexcept { return too_deep_; }

 private:
  /// The actions of the call that is expanded.
  struct bindings {
    struct one {
      const variable* to;
      const action_expr* body;
      const bindings* home;  ///< the actions that its text sees
    };
    std::vector<one> all;

    [[nodiscard]] const one* find(const variable* v) const {
      for (const one& each : all)
        if (each.to == v) return &each;
      return nullptr;
    }
  };

  void count(const block& b, const bindings* known) {
    if (too_deep_ || too_large_) return;
    if (depth_ == nesting_max) {
      too_deep_ = true;
      return;
    }
    ++depth_;
    walk(
        b,
        [&](const expr& e) {
          if (const call_expr* const c = e.get<call_expr>()) count(e, *c, known);
          return !e.is<action_expr>() && !too_large_ && !too_deep_;
        },
        [&](const stmt&) { too_large_ |= ++statements_ > expanded_code_max; });
    --depth_;
  }

  void count(const expr& e, const call_expr& call, const bindings* known) {
    if (e.means == meaning::action) {
      const bindings::one* const found = known != nullptr ? known->find(call.action()) : nullptr;
      if (found != nullptr) count(*found->body->body, found->home);
      return;
    }
    const function* const f = call.callee;
    if (f == nullptr || f->form != function_form::merged) return;
    bindings inner;
    for (std::size_t i = 0; i != call.args.size(); ++i) {
      if (!f->params[i]->type->is(kind::action)) continue;
      const expr& given = *call.args[i].value;
      if (const action_expr* const x = given.get<action_expr>()) {
        inner.all.push_back({f->params[i], x, known});
      } else if (known != nullptr) {
        if (const bindings::one* const found = known->find(given.local()))
          inner.all.push_back({f->params[i], found->body, found->home});
      }
    }
    count(f->decl->body, &inner);
  }

  std::uint32_t statements_ = 0;
  std::uint32_t depth_ = 0;
  bool too_large_ = false;
  bool too_deep_ = false;
};

}  // namespace

void bound_expanded_code(const std::vector<function*>& functions, source::diagnostics& report) {
  // Calls of a function that calls itself have no end, and were reported.
  if (report.has_errors()) return;
  const bool any = std::any_of(functions.begin(), functions.end(),
                               [](const function* f) { return f->takes_action(); });
  if (!any) return;
  for (const function* f : functions) {
    if (f->form == function_form::merged) continue;
    expansion made;
    if (made.fits(*f)) continue;
    auto& d = report.error(
        "D0007", f->decl->name_at,
        made.too_deep() ? quoted(f->name) + " expands calls of functions to a depth of more than " +
                              std::to_string(nesting_max)
                        : quoted(f->name) + " has more than " + std::to_string(expanded_code_max) +
                              " statements, with the actions that its calls expand");
    d.hint = "make a part of it a function without an action";
  }
}

}  // namespace heddle::draft

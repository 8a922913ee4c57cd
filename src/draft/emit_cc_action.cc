// SPDX-License-Identifier: MIT
// Actions in C++: a lambda in the frame of the caller, which the callee gets as `auto&`.
#include <utility>

#include "draft/cc_emitter.hh"
#include "draft/cc_text.hh"
#include "draft/walk.hh"

namespace heddle::draft {

cc_expr cc_emitter::action_text(const expr& e, const action_expr& x) {
  const type& result = *e.type->of;
  const std::string name = fresh("run");
  const std::string gives = type_text(result, e.at);
  const bool task = x.to->waits;
  const std::string turns = turns_, jobs = std::exchange(jobs_, ""),
                    waits = std::exchange(waits_, "");
  bool chooses = false;
  walk(*x.body, [](const expr&) {}, [&](const stmt& s) { chooses |= s.is<any_stmt>(); });
  // The action may run in a loop of the callee: the arm that won last time is asked last.
  if (chooses && turns_.empty()) {
    turns_ = fresh("turn");
    line("draft::turns " + turns_ + ";");
  }
  const std::string gives_task = "heddle::task<" + (result.is(kind::void_) ? "" : gives) + ">";
  out_.open("auto " + name + " = [&]() -> " + (task ? gives_task : gives));
  const std::size_t from = out_.size();
  place inside;
  inside.how = task ? place::form::value : place::form::plain;
  places_.push_back(inside);
  const type* const outer = std::exchange(result_, &result);
  emit_block(*x.body);
  end_coroutine(from);
  result_ = outer;
  places_.pop_back();
  out_.close(";");
  turns_ = turns;
  jobs_ = jobs;
  waits_ = waits;
  return cc_expr(name);
}

}  // namespace heddle::draft

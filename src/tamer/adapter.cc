// SPDX-License-Identifier: MIT
// The int that says how a bounded event ended: a slot without a waiter, guarded like any
// other.
#include "tamer/adapter.hh"

#include "tamer/guarded_slot.hh"

namespace tamer::detail {
namespace {

struct pass_outcome {
  pass_outcome(event<int> e, int c) noexcept : note(std::move(e)), code(c) {}
  void operator()(event<>& target) {
    note.trigger(code);
    target.trigger();
  }
  void unblock(event<>& target) { (*this)(target); }
  event<int> note;
  int code;
};

}  // namespace

event<> note_outcome(event<> e, int& outcome, int code) {
  outcome = outcome::success;
  return heddle::detail::relay<event<>, pass_outcome>::make(
      std::move(e), pass_outcome(storing_event(outcome), code));
}

}  // namespace tamer::detail

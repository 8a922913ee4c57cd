// SPDX-License-Identifier: MIT
// The outcome of a bounded event: a slot without a waiter, guarded like any other.
#include "heddle/core/notify.hh"

namespace heddle::detail {
namespace {

/// The home of events that only store: it wakes no frame, and dropping its events is no mistake.
struct storing_home final : event_home {
  void fired(event_record&, worker&) noexcept override {}
  void dropped(event_record&, worker&) noexcept override {}
};

struct pass_outcome {
  pass_outcome(event<std::error_code> e, std::error_code c) noexcept
      : note(std::move(e)), code(c) {}
  void operator()(event<>& target) {
    note.trigger(code);
    target.trigger();
  }
  void unblock(event<>& target) { (*this)(target); }
  event<std::error_code> note;
  std::error_code code;
};

}  // namespace

event<> note_outcome(event<> unblocker, std::error_code& outcome, std::error_code code) {
  static constinit storing_home stores;  // without state
  worker& w = worker::here();
  event_record& record = make_event_record(w, stores, &stores, 0, 0, nullptr, outcome);
  return relay<event<>, pass_outcome>::make(std::move(unblocker),
                                            pass_outcome(event<std::error_code>(&record), code));
}

}  // namespace heddle::detail

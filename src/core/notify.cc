// SPDX-License-Identifier: MIT
// The outcome of a timeout: a slot that nobody waits for, guarded like any other.
#include "heddle/core/notify.hh"

namespace heddle::detail {
namespace {

/// The home of events that only store: nobody is told, and nobody misses one that is dropped.
struct storing_home final : event_home {
  void fired(event_record&, worker&) noexcept override {}
  void dropped(event_record&, worker&) noexcept override {}
};

struct pass_timed_out {
  explicit pass_timed_out(event<std::error_code> e) noexcept : note(std::move(e)) {}
  void operator()(event<>& target) {
    note.trigger(timed_out_error());
    target.trigger();
  }
  void unblock(event<>& target) { (*this)(target); }
  event<std::error_code> note;
};

}  // namespace

event<> note_timeout(event<> unblocker, std::error_code& outcome) {
  static constinit storing_home stores;  // without state
  worker& w = worker::here();
  event_record& record = make_event_record(w, stores, &stores, 0, 0, outcome);
  return relay<event<>, pass_timed_out>::make(std::move(unblocker),
                                              pass_timed_out(event<std::error_code>(&record)));
}

}  // namespace heddle::detail

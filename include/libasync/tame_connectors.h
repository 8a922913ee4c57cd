/* SPDX-License-Identifier: MIT
 * connector::timeout, cnc and sig return an event in place of another one, and tell how it ended:
 * by a trigger, by a time limit, by a cancelable_t, or by a signal.
 */
#pragma once

#include <utility>

#include "async.h"

typedef enum {
  OUTCOME_SUCC = 0,
  OUTCOME_TIMEDOUT = 1,
  OUTCOME_CANCELLED = 2,
  OUTCOME_SIGNALED = 3,
  OUTCOME_DISCARDED = 4
} outcome_t;

/// A handle by which a caller ends a wait. Thread: one color.
class cancelable_t {
 public:
  void set_notify_on_cancel(evv_t e) { notified_ = std::move(e); }
  void cancel() { std::exchange(notified_, evv_t()).trigger(); }

 private:
  evv_t notified_;
};

namespace heddle::libasync {

/// Ends `in` by the first of: `out`, which has the slots of `in`, the limit, and `stop`.
template <class... Ts>
void connect_event(::event<Ts...>* out, ::event<Ts...> in, cancelable_t* stop, double limit,
                   const vec<int>* signals, outcome_t* how, int* signal,
                   heddle::event<> caller = {}) {
  heddle::rendezvous<int> r;
  int which = 0;
  constexpr int first_signal = 16;
  if (stop != nullptr) stop->set_notify_on_cancel(r.make_event(OUTCOME_CANCELLED));
  if (caller) caller.at_trigger(r.make_event(OUTCOME_CANCELLED));
  if (limit > 0) tamer::at_delay(limit, r.make_event(OUTCOME_TIMEDOUT));
  if (signals != nullptr)
    for (const int s : *signals)
      tamer::at_signal(s, r.make_event(first_signal + s), tamer::signal_background);
  if (heddle::event<Ts...> stored = in; stored)
    *out = r.make_event_like(stored, static_cast<int>(OUTCOME_SUCC));
  in.at_trigger(r.make_event(OUTCOME_DISCARDED));
  co_await heddle::tame::next(r, which);
  r.clear();
  if (which >= first_signal && signal != nullptr) *signal = which - first_signal;
  if (how != nullptr && which != OUTCOME_DISCARDED)
    *how = which >= first_signal ? OUTCOME_SIGNALED : static_cast<outcome_t>(which);
  in.unblock();
  co_return;
}

}  // namespace heddle::libasync

namespace connector {

/// The event that ends `in`, which must have slots of the program's own. The outcome is stored
/// before `in` ends, and must live until then.
template <class... Ts>
[[nodiscard]] event<Ts...> cnc(event<Ts...> in, cancelable_t* stop, int seconds, int nanoseconds,
                               outcome_t* how = nullptr) {
  event<Ts...> out;
  heddle::libasync::connect_event<Ts...>(
      &out, std::move(in), stop,
      static_cast<double>(seconds) + static_cast<double>(nanoseconds) * 1e-9, nullptr, how,
      nullptr);
  return out;
}
template <class... Ts>
[[nodiscard]] event<Ts...> cnc(event<Ts...> in, cancelable_t* stop, outcome_t* how = nullptr) {
  return connector::cnc(std::move(in), stop, 0, 0, how);
}
/// Ends `in` with OUTCOME_CANCELLED when `caller`, an event of the function that waits, is dropped.
template <class... Ts, class... Us>
[[nodiscard]] event<Ts...> cnc(event<Ts...> in, event<Us...> caller, outcome_t* how = nullptr) {
  event<Ts...> out;
  heddle::libasync::connect_event<Ts...>(&out, std::move(in), nullptr, 0, nullptr, how, nullptr,
                                         caller.unblocker());
  return out;
}
template <class... Ts>
[[nodiscard]] event<Ts...> timeout(event<Ts...> in, int seconds, int nanoseconds = 0,
                                   outcome_t* how = nullptr) {
  return connector::cnc(std::move(in), nullptr, seconds, nanoseconds, how);
}
/// As timeout().
template <class... Ts>
[[nodiscard]] event<Ts...> klepto_timeout(event<Ts...> in, int seconds, int nanoseconds = 0,
                                          outcome_t* how = nullptr) {
  return connector::timeout(std::move(in), seconds, nanoseconds, how);
}
/// An event that stores its values and then triggers `done`. The slots must live until then.
template <class... Ts>
[[nodiscard]] event<Ts...> extend(evv_t done, Ts&... slots) {
  return heddle::function_event<Ts...>([done, &slots...](Ts... values) {
    ((slots = std::move(values)), ...);
    done.trigger();
  });
}
/// The number of the signal goes to *signal, which keeps its value if none came.
template <class... Ts>
[[nodiscard]] event<Ts...> sig(event<Ts...> in, vec<int> signals, int* signal = nullptr,
                               cancelable_t* stop = nullptr) {
  event<Ts...> out;
  heddle::libasync::connect_event<Ts...>(&out, std::move(in), stop, 0, &signals, nullptr, signal);
  return out;
}

}  // namespace connector

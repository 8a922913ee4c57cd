// SPDX-License-Identifier: MIT
// tamer's adapters of events. Delays are seconds as a double, a timeval, or _sec and _msec; an int
// outcome is 0 when the event ended by itself, -ETIMEDOUT after the delay, -EINTR after a signal.
#pragma once

#include <sys/time.h>

#include <iterator>
#include <type_traits>
#include <utility>

#include "heddle/core/adapt.hh"
#include "heddle/core/callback.hh"
#include "tamer/driver.hh"

namespace tamer {

namespace detail {

/// Sets `outcome` to 0, and gives an event that stores `code` there and unblocks e. A variable of a
/// function that has ended is not written.
[[nodiscard]] event<> note_outcome(event<> e, int& outcome, int code);

}  // namespace detail

}  // namespace tamer

// In Heddle's namespace, because programs call them without naming one: the type of the event finds
// them.
namespace heddle {

template <class Delay, class... Ts>
  requires requires(Delay d, event<> e) { ::tamer::at_delay(d, e); }
[[nodiscard]] event<Ts...> with_timeout(Delay delay, event<Ts...> e) {
  ::tamer::at_delay(delay, e.unblocker());
  return e;
}
template <class Delay, class... Ts>
  requires requires(Delay d, event<> e) { ::tamer::at_delay(d, e); }
[[nodiscard]] event<Ts...> with_timeout(Delay delay, event<Ts...> e, int& outcome) {
  ::tamer::at_delay(
      delay, ::tamer::detail::note_outcome(e.unblocker(), outcome, ::tamer::outcome::timeout));
  return e;
}
template <class... Ts>
[[nodiscard]] event<Ts...> with_timeout_sec(int delay, event<Ts...> e) {
  return heddle::with_timeout(timeval{delay, 0}, std::move(e));
}
template <class... Ts>
[[nodiscard]] event<Ts...> with_timeout_sec(int delay, event<Ts...> e, int& outcome) {
  return heddle::with_timeout(timeval{delay, 0}, std::move(e), outcome);
}
template <class... Ts>
[[nodiscard]] event<Ts...> with_timeout_msec(int delay, event<Ts...> e) {
  return heddle::with_timeout(timeval{delay / 1000, delay % 1000 * 1000}, std::move(e));
}
template <class... Ts>
[[nodiscard]] event<Ts...> with_timeout_msec(int delay, event<Ts...> e, int& outcome) {
  return heddle::with_timeout(timeval{delay / 1000, delay % 1000 * 1000}, std::move(e), outcome);
}

/// Gives e, and fires it with these values after the delay unless it ends before.
template <class Delay, class... Ts, class... Vs>
  requires(sizeof...(Ts) == sizeof...(Vs) && sizeof...(Ts) != 0 &&
           requires(Delay d, event<> e) { ::tamer::at_delay(d, e); })
[[nodiscard]] event<Ts...> add_timeout(Delay delay, event<Ts...> e, Vs&&... values) {
  ::tamer::at_delay(delay, heddle::bind(e, std::forward<Vs>(values)...));
  return e;
}
/// As add_timeout() above, with -ETIMEDOUT as the last value. The first value keeps what the
/// operation has stored so far, such as the count of a read; if no int variable receives the
/// result, the first value is empty.
template <class Delay, class... Ts>
  requires requires(Delay d, event<> e) { ::tamer::at_delay(d, e); }
[[nodiscard]] event<Ts...> add_timeout(Delay delay, event<Ts...> e) {
  if constexpr (sizeof...(Ts) == 0) {
    ::tamer::at_delay(delay, e);
  } else if constexpr (sizeof...(Ts) == 1 && !(std::constructible_from<Ts, int> && ...)) {
    ::tamer::at_delay(delay, e.unblocker());  // the type has no value for a timeout
  } else if constexpr (sizeof...(Ts) == 1) {
    ::tamer::at_delay(delay, heddle::bind(e, Ts(::tamer::outcome::timeout)...));
  } else {
    [&]<class First, class Last>(event<First, Last> both) {
      if constexpr (std::same_as<Last, int>) {
        if (int* const result = both.template result_pointer<1>())
          return ::tamer::at_delay(delay, ::tamer::detail::note_outcome(both.unblocker(), *result,
                                                                        ::tamer::outcome::timeout));
      }
      ::tamer::at_delay(delay, heddle::bind(both, First(), Last(::tamer::outcome::timeout)));
    }(e);
  }
  return e;
}
template <class... Ts, class... Vs>
[[nodiscard]] event<Ts...> add_timeout_sec(int delay, event<Ts...> e, Vs&&... values) {
  return heddle::add_timeout(timeval{delay, 0}, std::move(e), std::forward<Vs>(values)...);
}
template <class... Ts, class... Vs>
[[nodiscard]] event<Ts...> add_timeout_msec(int delay, event<Ts...> e, Vs&&... values) {
  return heddle::add_timeout(timeval{delay / 1000, delay % 1000 * 1000}, std::move(e),
                             std::forward<Vs>(values)...);
}

template <class... Ts>
[[nodiscard]] event<Ts...> with_signal(int signal, event<Ts...> e) {
  ::tamer::at_signal(signal, e.unblocker());
  return e;
}
template <class... Ts>
[[nodiscard]] event<Ts...> with_signal(int signal, event<Ts...> e, int& outcome) {
  ::tamer::at_signal(
      signal, ::tamer::detail::note_outcome(e.unblocker(), outcome, ::tamer::outcome::signal));
  return e;
}
/// As with_signal() above, for any one of a range of signals.
template <class Iterator, class... Ts>
  requires std::input_iterator<Iterator>
[[nodiscard]] event<Ts...> with_signal(Iterator first, Iterator last, event<Ts...> e) {
  for (; first != last; ++first) ::tamer::at_signal(*first, e.unblocker());
  return e;
}
template <class Iterator, class... Ts>
  requires std::input_iterator<Iterator>
[[nodiscard]] event<Ts...> with_signal(Iterator first, Iterator last, event<Ts...> e,
                                       int& outcome) {
  for (; first != last; ++first)
    ::tamer::at_signal(
        *first, ::tamer::detail::note_outcome(e.unblocker(), outcome, ::tamer::outcome::signal));
  return e;
}
template <class... Ts, class... Vs>
  requires(sizeof...(Ts) == sizeof...(Vs))
[[nodiscard]] event<Ts...> add_signal(int signal, event<Ts...> e, Vs&&... values) {
  ::tamer::at_signal(signal, heddle::bind(e, std::forward<Vs>(values)...));
  return e;
}

/// As add_signal() above, for any one of a range of signals.
template <class Iterator, class... Ts, class... Vs>
  requires(std::input_iterator<Iterator> && sizeof...(Ts) == sizeof...(Vs))
[[nodiscard]] event<Ts...> add_signal(Iterator first, Iterator last, event<Ts...> e,
                                      Vs&&... values) {
  for (; first != last; ++first) ::tamer::at_signal(*first, heddle::bind(e, values...));
  return e;
}

/// An event that calls f once when it fires, with these arguments before its values.
template <class... Ts, class F, class... Args>
[[nodiscard]] event<Ts...> fun_event(F f, Args... args) {
  return heddle::function_event<Ts...>(
      [f = std::move(f), ... args = std::move(args)](Ts... values) mutable {
        f(args..., std::move(values)...);
      });
}

}  // namespace heddle

namespace tamer {

using heddle::add_signal;
using heddle::add_timeout;
using heddle::add_timeout_msec;
using heddle::add_timeout_sec;
using heddle::bind;
using heddle::fun_event;
using heddle::map;
using heddle::output_event;
using heddle::push_back_event;
using heddle::rebind;
using heddle::with_signal;
using heddle::with_timeout;
using heddle::with_timeout_msec;
using heddle::with_timeout_sec;

}  // namespace tamer

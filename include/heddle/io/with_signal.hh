// SPDX-License-Identifier: MIT
// Signals as a bound for other waits, of the same form as timeouts:
//
//   auto n = co_await with_signal(conn.read(buf), SIGINT);      // throws failure(interrupted)
//   with_signal(e, SIGINT, outcome)                             // e, unblocked by the signal
//   add_signal(e, signal_list(SIGINT, SIGTERM), v)              // e, triggered with v by either
//
// A wait that had already ended delivers its result; the loser of the race is cancelled.
#pragma once

#include <concepts>
#include <system_error>
#include <utility>

#include "heddle/core/combine.hh"
#include "heddle/core/notify.hh"
#include "heddle/core/start.hh"
#include "heddle/io/signal.hh"

namespace heddle {

namespace detail {

[[nodiscard]] inline std::error_code interrupted_error() noexcept {
  return std::make_error_code(std::errc::interrupted);
}
/// Waits for the first of these signals; a signal that is not taken is kept for the next wait.
[[nodiscard]] task<> first_signal(signal_list signals);

template <class A>
auto until_signal(A awaitable, signal_list signals) -> task<await_value_t<A&&>> {
  using value = await_value_t<A&&>;
  auto won =
      co_await any(as_expected(static_cast<A&&>(awaitable)), as_expected(first_signal(signals)));
  std::optional<result<value>>& ended = std::get<0>(won.results);
  if (won.index == 1 && (!ended || !*ended)) {
    const result<void>& came = *std::get<1>(won.results);
    throw_failure(came ? interrupted_error() : came.error());  // cancelled from outside, say
  }
  if (!*ended) throw_failure(ended->error());
  if constexpr (!std::is_void_v<value>) co_return std::move(**ended);
}

}  // namespace detail

/// Throws failure(interrupted) if one of the signals comes before `awaitable` has ended.
template <class A>
[[nodiscard]] auto with_signal(A&& awaitable, signal_list signals) {
  return detail::until_signal<A>(std::forward<A>(awaitable), signals);
}

/// Returns e, which is unblocked when one of the signals comes, unless e ends before.
template <class... Ts>
[[nodiscard]] event<Ts...> with_signal(event<Ts...> e, signal_list signals) {
  start(detail::first_signal(signals), e.unblocker());
  return e;
}

/// As above; `outcome` is cleared now, and becomes interrupted when a signal comes first.
template <class... Ts>
[[nodiscard]] event<Ts...> with_signal(event<Ts...> e, signal_list signals,
                                       std::error_code& outcome) {
  outcome.clear();
  if (e)
    start(detail::first_signal(signals),
          detail::note_outcome(e.unblocker(), outcome, detail::interrupted_error()));
  return e;
}

/// Returns e, which is triggered with these values when a signal comes, unless e ends before.
template <class... Ts, class... Vs>
  requires(sizeof...(Ts) == sizeof...(Vs) && (std::constructible_from<Ts, Vs &&> && ...))
[[nodiscard]] event<Ts...> add_signal(event<Ts...> e, signal_list signals, Vs&&... values) {
  start(detail::first_signal(signals), bind(e, std::forward<Vs>(values)...));
  return e;
}

}  // namespace heddle

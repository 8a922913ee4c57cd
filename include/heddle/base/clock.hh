// SPDX-License-Identifier: MIT
// The runtime's time: nanoseconds on a steady clock that the driver supplies, so that time is
// virtual under simulation. Room core defines clock::now().
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <ratio>
#include <type_traits>

namespace heddle {

using nanoseconds = std::chrono::nanoseconds;

/// The runtime's clock. Thread: workers; other threads read the machine's steady clock.
struct clock {
  using duration = nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock, duration>;
  static constexpr bool is_steady = true;

  /// Reads the clock.
  static time_point now() noexcept;
};

using time_point = clock::time_point;

/// A time that is never reached.
inline constexpr time_point never = time_point::max();

namespace detail {
/// The end of the range that a sum or difference left: the lower end if `below`.
[[nodiscard]] constexpr std::int64_t end_beyond(bool below) noexcept {
  return below ? nanoseconds::min().count() : nanoseconds::max().count();
}
}  // namespace detail

// All arithmetic with times and spans that a program gives goes through the next four functions.
// They never overflow: beyond an end of the range, the result is that end.

/// from + span; `never` or time_point::min() beyond the ends.
[[nodiscard]] constexpr time_point add_saturated(time_point from, nanoseconds span) noexcept {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(std::int64_t{from.time_since_epoch().count()},
                             std::int64_t{span.count()}, &sum)) [[unlikely]]
    sum = detail::end_beyond(span < nanoseconds::zero());
  return time_point(nanoseconds(sum));
}
/// The sum of two spans.
[[nodiscard]] constexpr nanoseconds add_saturated(nanoseconds a, nanoseconds b) noexcept {
  return add_saturated(time_point(a), b).time_since_epoch();
}
/// to - from; negative if `to` is the earlier one.
[[nodiscard]] constexpr nanoseconds span_between(time_point from, time_point to) noexcept {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(std::int64_t{to.time_since_epoch().count()},
                             std::int64_t{from.time_since_epoch().count()}, &difference))
      [[unlikely]]
    difference = detail::end_beyond(to < from);
  return nanoseconds(difference);
}
/// A span in nanoseconds: hours::max() and the like give the longest span there is. Rounded up, so
/// that a wait for a fraction of a nanosecond is not a wait for zero.
template <class Rep, class Period>
[[nodiscard]] constexpr nanoseconds to_span(std::chrono::duration<Rep, Period> span) noexcept {
  using whole = std::chrono::duration<long double, std::nano>;
  using factor = std::ratio_divide<Period, std::nano>;
  if constexpr (std::is_integral_v<Rep> && factor::den == 1) {
    std::int64_t count = 0;
    if (__builtin_mul_overflow(span.count(), std::int64_t{factor::num}, &count)) [[unlikely]]
      count = detail::end_beyond(span < std::chrono::duration<Rep, Period>::zero());
    return nanoseconds(count);
  } else {
    const whole exact(span);
    if (!(exact < whole(nanoseconds::max()))) return nanoseconds::max();  // NaN, too
    if (exact <= whole(nanoseconds::min())) return nanoseconds::min();
    return std::chrono::ceil<nanoseconds>(exact);
  }
}
/// A span of any unit but the clock's own.
template <class Span>
concept other_unit = !std::same_as<Span, nanoseconds> && requires(Span s) { to_span(s); };

}  // namespace heddle

// SPDX-License-Identifier: MIT
// Arithmetic as Draft has it: an overflow, a division by zero, or a number that does not fit is a
// fault with the line of the call. The second operand takes the type of the first.
//
//   total = draft::add(total, draft::mul(count, 3));
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <source_location>
#include <type_traits>
#include <utility>

#include "heddle/base/clock.hh"
#include "heddle/draft/error.hh"

namespace heddle::from_draft {

template <class T>
concept integer = std::integral<T> && !std::same_as<T, bool>;

namespace detail {
inline constexpr const char* overflow = "a number is too large for its type";
inline constexpr const char* division = "a division by zero";
inline constexpr const char* bounds = "an index or a size is out of bounds";
inline constexpr const char* narrow = "a number does not fit in the type it is converted to";
inline constexpr const char* shift = "a shift by more bits than there are";
inline constexpr const char* depth = "calls are nested too deeply";

template <integer T>
void check_divisor(T a, T b, const std::source_location& where) {
  if (b == 0) fail_with(division, where);
  if constexpr (std::is_signed_v<T>)
    if (b == T(-1) && a == std::numeric_limits<T>::min()) fail_with(overflow, where);
}
}  // namespace detail

template <integer T>
T add(T a, std::type_identity_t<T> b,
      std::source_location where = std::source_location::current()) {
  T r{};
  if (__builtin_add_overflow(a, b, &r)) [[unlikely]]
    fail_with(detail::overflow, where);
  return r;
}
template <integer T>
T sub(T a, std::type_identity_t<T> b,
      std::source_location where = std::source_location::current()) {
  T r{};
  if (__builtin_sub_overflow(a, b, &r)) [[unlikely]]
    fail_with(detail::overflow, where);
  return r;
}
template <integer T>
T mul(T a, std::type_identity_t<T> b,
      std::source_location where = std::source_location::current()) {
  T r{};
  if (__builtin_mul_overflow(a, b, &r)) [[unlikely]]
    fail_with(detail::overflow, where);
  return r;
}
template <integer T>
T div(T a, std::type_identity_t<T> b,
      std::source_location where = std::source_location::current()) {
  detail::check_divisor(a, b, where);
  return static_cast<T>(a / b);
}
template <integer T>
T mod(T a, std::type_identity_t<T> b,
      std::source_location where = std::source_location::current()) {
  detail::check_divisor(a, b, where);
  return static_cast<T>(a % b);
}
template <integer T>
T negate(T a, std::source_location where = std::source_location::current()) {
  return sub(T{0}, a, where);
}
template <integer T>
T shift_left(T a, std::int64_t by, std::source_location where = std::source_location::current()) {
  if (by < 0 || by >= static_cast<std::int64_t>(8 * sizeof(T))) fail_with(detail::shift, where);
  return static_cast<T>(static_cast<std::uint64_t>(a) << by);
}
template <integer T>
T shift_right(T a, std::int64_t by, std::source_location where = std::source_location::current()) {
  if (by < 0 || by >= static_cast<std::int64_t>(8 * sizeof(T))) fail_with(detail::shift, where);
  return static_cast<T>(a >> by);
}

// The operators +% -% *% wrap around.
template <integer T>
T wrapping_add(T a, std::type_identity_t<T> b) noexcept {
  return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
template <integer T>
T wrapping_sub(T a, std::type_identity_t<T> b) noexcept {
  return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
template <integer T>
T wrapping_mul(T a, std::type_identity_t<T> b) noexcept {
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// u16(n) of Draft: the same number in another type.
template <integer To, integer From>
To to(From n, std::source_location where = std::source_location::current()) {
  if (!std::in_range<To>(n)) [[unlikely]]
    fail_with(detail::narrow, where);
  return static_cast<To>(n);
}

// Durations are nanoseconds in 64 bits.
inline nanoseconds add(nanoseconds a, nanoseconds b,
                       std::source_location where = std::source_location::current()) {
  return nanoseconds(add(std::int64_t{a.count()}, b.count(), where));
}
inline nanoseconds sub(nanoseconds a, nanoseconds b,
                       std::source_location where = std::source_location::current()) {
  return nanoseconds(sub(std::int64_t{a.count()}, b.count(), where));
}
inline nanoseconds mul(nanoseconds a, std::int64_t by,
                       std::source_location where = std::source_location::current()) {
  return nanoseconds(mul(std::int64_t{a.count()}, by, where));
}
inline nanoseconds div(nanoseconds a, std::int64_t by,
                       std::source_location where = std::source_location::current()) {
  return nanoseconds(div(std::int64_t{a.count()}, by, where));
}
inline std::int64_t div(nanoseconds a, nanoseconds b,
                        std::source_location where = std::source_location::current()) {
  return div(std::int64_t{a.count()}, b.count(), where);
}
inline nanoseconds mul(std::int64_t by, nanoseconds a,
                       std::source_location where = std::source_location::current()) {
  return mul(a, by, where);
}
inline nanoseconds negate(nanoseconds a,
                          std::source_location where = std::source_location::current()) {
  return nanoseconds(negate(std::int64_t{a.count()}, where));
}

/// In a function that calls itself: more than 1,000 such calls inside each other are a fault.
class nesting {
 public:
  explicit nesting(std::source_location where = std::source_location::current()) {
    if (!heddle_enter(this_worker())) fail_with(detail::depth, where);
  }
  nesting(const nesting&) = delete;
  nesting& operator=(const nesting&) = delete;
  ~nesting() { heddle_leave(this_worker()); }
};

}  // namespace heddle::from_draft

// SPDX-License-Identifier: MIT
// Error messages for the usual mistakes with events: one sentence that names the remedy, instead of
// a list of overloads. tests/house/compiler_errors_test.py reads each.
#pragma once

#include <concepts>
#include <cstddef>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "heddle/core/awaitable.hh"

namespace heddle::detail {

/// How many of these arguments are no trailing source_location.
template <class... As>
[[nodiscard]] consteval std::size_t without_line() {
  std::size_t n = 0, last = 0;
  ((++n, last = std::same_as<std::remove_cvref_t<As>, std::source_location> ? n : 0), ...);
  return n != 0 && last == n ? n - 1 : n;
}
/// Whether the arguments of make_event() are ids of these types, then variables.
template <class Ids, class... As>
[[nodiscard]] consteval bool ids_fit() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    if constexpr (sizeof...(As) < sizeof...(I)) {
      return false;
    } else {
      return (std::convertible_to<std::tuple_element_t<I, std::tuple<As...>>,
                                  std::tuple_element_t<I, Ids>> &&
              ...);
    }
  }(std::make_index_sequence<std::tuple_size_v<Ids>>());
}
template <class Ids, class... As>
[[nodiscard]] consteval bool slots_fit() {
  constexpr std::size_t ids = std::tuple_size_v<Ids>, n = without_line<As...>();
  std::size_t i = 0;
  bool fit = true;
  ((fit = fit && (i < ids || i >= n || std::is_lvalue_reference_v<As>), ++i), ...);
  return fit;
}
template <class Ids, class... As>
inline constexpr bool names_event = ids_fit<Ids, As&&...>() && slots_fit<Ids, As&&...>();

template <class Ids, class... As>
constexpr void explain_event() noexcept {
  if constexpr (sizeof...(As) < std::tuple_size_v<Ids>) {
    static_assert(misused<As...>,
                  "this rendezvous has ids: give make_event() a value for each, then the slots");
  } else if constexpr (!ids_fit<Ids, As&&...>()) {
    static_assert(misused<As...>,
                  "the first arguments of make_event() are the event's ids: give values of the "
                  "types in rendezvous<...>, and then the slots");
  } else {
    static_assert(misused<As...>,
                  "a slot in make_event() is a variable that the event stores its value in: give "
                  "a variable; if this is an id, name its type in rendezvous<...>");
  }
}

/// Whether an event with values of these types can be triggered with those, and perhaps a line.
template <class Values, class... Us>
[[nodiscard]] consteval bool values_fit() {
  constexpr std::size_t n = std::tuple_size_v<Values>;
  return []<std::size_t... I>(std::index_sequence<I...>) {
    if constexpr (sizeof...(Us) == n || (sizeof...(Us) == n + 1 && without_line<Us...>() == n)) {
      using given = std::tuple<Us...>;
      return (std::constructible_from<std::tuple_element_t<I, Values>,
                                      std::tuple_element_t<I, given>> &&
              ...);
    } else {
      return false;
    }
  }(std::make_index_sequence<n>());
}
template <class Values, class... Us>
inline constexpr bool carries = values_fit<Values, Us&&...>();

}  // namespace heddle::detail

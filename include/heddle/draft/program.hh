// SPDX-License-Identifier: MIT
// main() of a program that came from Draft: reads the arguments, runs the program, and says how it
// ended, as heddle_main() does. Exit codes: 0, 1 for an error or a fault, 2 for wrong arguments. It
// takes one worker per core, or HEDDLE_WORKERS, and reserves 64 GiB of addresses, or HEDDLE_MEMORY
// bytes.
//
//   int main(int argc, char** argv) {
//     return draft::run(argc, argv, serve, draft::parameter<std::uint16_t>("port", 7777));
//   }
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "heddle/abi/program.hh"
#include "heddle/draft/text.hh"
#include "heddle/draft/thread.hh"

namespace heddle::from_draft {

/// One argument of the command line, with the value that it has when it is left out. An integer, a
/// bool, a duration, bytes or text<N>; integers above 2^63 - 1 are refused.
template <class T>
struct parameter {
  explicit parameter(const char* called, std::optional<T> otherwise = std::nullopt)
      : name(called), fallback(std::move(otherwise)) {}
  const char* name;
  std::optional<T> fallback;
};

namespace detail {

template <class T>
struct is_text_in_place : std::false_type {};
template <std::size_t N>
struct is_text_in_place<text<N>> : std::integral_constant<std::size_t, N> {};

template <class T>
[[nodiscard]] heddle_parameter described(const parameter<T>& p) {
  heddle_parameter out{};
  out.name = p.name;
  out.has_default = p.fallback.has_value();
  if constexpr (std::is_same_v<T, bool>) {
    out.form = HEDDLE_PARAMETER_BOOL;
  } else if constexpr (integer<T>) {
    out.form = HEDDLE_PARAMETER_INT;
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    out.least = static_cast<std::int64_t>(std::numeric_limits<T>::min());
    out.most = std::in_range<std::int64_t>(std::numeric_limits<T>::max())
                   ? static_cast<std::int64_t>(std::numeric_limits<T>::max())
                   : most;
  } else if constexpr (std::is_same_v<T, nanoseconds>) {
    out.form = HEDDLE_PARAMETER_DURATION;
  } else {
    out.form = HEDDLE_PARAMETER_TEXT;
    out.most = std::is_same_v<T, bytes> ? -1 : is_text_in_place<T>::value;
  }
  return out;
}

/// The value of an argument. Texts that are left out are those of the parameter itself.
template <class T>
[[nodiscard]] T value_of_argument(const parameter<T>& p, const heddle_argument& given,
                                  bool left_out) {
  if (left_out) return *p.fallback;
  if constexpr (integer<T> || std::is_same_v<T, bool> || std::is_same_v<T, nanoseconds>)
    return T(given.number);
  else
    return T(std::string_view(given.text.data, given.text.len));
}

}  // namespace detail

/// Runs program(arguments...), which makes a task<>, until it ends; then it cancels the threads
/// that are left. Gives the exit code.
template <class F, class... Ts>
int run(int argc, char** argv, F program, const parameter<Ts>&... parameters) {
  const std::array<heddle_parameter, sizeof...(Ts)> list{detail::described(parameters)...};
  const auto start = [&](heddle_worker*, [[maybe_unused]] const heddle_argument* given) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return detail::task_thread<void>::make(
          program(
              detail::value_of_argument(parameters, given[I], static_cast<int>(I) + 1 >= argc)...),
          std::source_location::current());
    }(std::index_sequence_for<Ts...>());
  };
  return abi::run_program(argc, argv, start, list);
}

}  // namespace heddle::from_draft

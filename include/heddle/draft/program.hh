// SPDX-License-Identifier: MIT
// main() of a program that came from Draft: reads the arguments, runs the program, and says how it
// ended. Exit codes: 0, 1 for an error or a fault, 2 for wrong arguments. It takes one worker per
// core, or HEDDLE_WORKERS, and reserves 64 GiB of addresses, or HEDDLE_MEMORY bytes.
//
//   int main(int argc, char** argv) {
//     return draft::run(argc, argv, serve, draft::parameter<std::uint16_t>("port", 7777));
//   }
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "heddle/draft/text.hh"
#include "heddle/draft/thread.hh"

namespace heddle::from_draft {

namespace detail {

inline std::optional<nanoseconds> read_duration(std::string_view s) {
  struct unit {
    std::string_view name;
    std::int64_t ns;
  };
  static constexpr unit units[] = {{"ns", 1},         {"us", 1000},       {"ms", 1000000},
                                   {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};
  std::int64_t n = 0, span = 0;
  const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), n);
  if (failed != std::errc() || n < 0) return std::nullopt;
  for (const unit& u : units)
    if (u.name == s.substr(static_cast<std::size_t>(end - s.data())) &&
        !__builtin_mul_overflow(n, u.ns, &span))
      return nanoseconds(span);
  return std::nullopt;
}

/// An argument's value; `wanted` says what would fit.
template <class T>
struct read_as;
template <integer T>
struct read_as<T> {
  static std::optional<T> from(std::string_view s) {
    T n{};
    const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (failed != std::errc() || end != s.data() + s.size()) return std::nullopt;
    return n;
  }
  static std::string wanted() {
    return "a number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
           std::to_string(std::numeric_limits<T>::max());
  }
};
template <>
struct read_as<bool> {
  static std::optional<bool> from(std::string_view s) {
    if (s != "true" && s != "false") return std::nullopt;
    return s == "true";
  }
  static std::string wanted() { return "true or false"; }
};
template <>
struct read_as<nanoseconds> {
  static std::optional<nanoseconds> from(std::string_view s) { return read_duration(s); }
  static std::string wanted() { return "a number with ns, us, ms, s, m or h"; }
};
template <>
struct read_as<bytes> {
  static std::optional<bytes> from(std::string_view s) { return bytes(s); }
  static std::string wanted() { return "any text"; }
};
template <std::size_t N>
struct read_as<text<N>> {
  static std::optional<text<N>> from(std::string_view s) {
    if (s.size() > N) return std::nullopt;
    return text<N>(s);
  }
  static std::string wanted() { return "at most " + std::to_string(N) + " bytes"; }
};

}  // namespace detail

/// One argument of the command line, with the value that it has when it is left out.
template <class T>
struct parameter {
  explicit parameter(const char* called, std::optional<T> otherwise = std::nullopt)
      : name(called), fallback(std::move(otherwise)) {}
  const char* name;
  std::optional<T> fallback;
};

namespace detail {

/// Takes argument i, counted from 0. Gives what is wrong.
template <class T>
std::string read_parameter(const parameter<T>& p, int i, int argc, char** argv,
                           std::optional<T>& out) {
  if (i + 1 >= argc) {
    out = p.fallback;
    return out ? std::string() : "the argument " + std::string(p.name) + " is missing";
  }
  out = read_as<T>::from(argv[i + 1]);
  if (out) return {};
  return "'" + std::string(argv[i + 1]) + "' is no value for " + p.name + ": " +
         read_as<T>::wanted();
}

// Bounds of HEDDLE_MEMORY: some frames and their tables, and what a process can reserve.
inline constexpr std::int64_t memory_least = std::int64_t{1} << 26;
inline constexpr std::int64_t memory_most = std::int64_t{1} << 46;

/// `make` makes the program's task, which needs the runtime.
inline int run_program(std::move_only_function<task<>()> make) {
  try {
    runtime_options options;
    if (std::getenv("HEDDLE_WORKERS") == nullptr)
      options.workers = std::clamp(std::thread::hardware_concurrency(), 1U, 64U);
    if (const char* const text = std::getenv("HEDDLE_MEMORY")) {
      const std::optional<std::int64_t> bytes = read_as<std::int64_t>::from(text);
      if (!bytes || *bytes < memory_least || *bytes > memory_most) {
        std::fprintf(stderr, "error: HEDDLE_MEMORY is '%s'; it may be %lld to %lld bytes\n", text,
                     static_cast<long long>(memory_least), static_cast<long long>(memory_most));
        return 2;
      }
      options.memory_bytes = static_cast<std::size_t>(*bytes);
    }
    runtime rt(std::move(options));
    const outcome<void> ended = rt.run(caught(make()));
    if (ended) return 0;
    std::fprintf(stderr, "error: main ended with error.%s\n", ended.error().name());
  } catch (const fault&) {  // reported where it happened
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
  }
  return 1;
}

template <class F, class... Ts>
task<> call_with(F program, std::tuple<std::optional<Ts>...> values) {
  co_await std::apply([&](auto&... v) { return program(std::move(*v)...); }, values);
}

}  // namespace detail

/// Runs program(arguments...), which makes a task<>, until it ends; then it cancels the threads
/// that are left. Gives the exit code.
template <class F, class... Ts>
int run(int argc, char** argv, F program, const parameter<Ts>&... parameters) {
  constexpr int count = sizeof...(Ts);
  std::tuple<std::optional<Ts>...> values;
  std::string why;
  if (argc > count + 1)
    why = "there are " + std::to_string(argc - 1) + " arguments, and at most " +
          std::to_string(count) + " are taken";
  int i = 0;
  std::apply(
      [&](auto&... value) {
        [[maybe_unused]] const auto take = [&](const auto& p, auto& v) {
          if (why.empty()) why = detail::read_parameter(p, i++, argc, argv, v);
        };
        (take(parameters, value), ...);
      },
      values);
  if (why.empty())
    return detail::run_program([&] { return detail::call_with<F, Ts...>(program, values); });
  std::fprintf(stderr, "error: %s\n  usage: %s", why.c_str(), argc > 0 ? argv[0] : "program");
  (std::fprintf(stderr, parameters.fallback ? " [%s]" : " %s", parameters.name), ...);
  std::fputc('\n', stderr);
  return 2;
}

}  // namespace heddle::from_draft

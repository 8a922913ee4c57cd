// SPDX-License-Identifier: MIT
// The two kinds of error. HEDDLE_ASSERT catches a misuse or an internal bug: it names the place and
// the remedy and calls a settable hook (by default it prints to stderr and aborts). An external
// failure is a std::error_code: it is thrown as `failure` with the line that waited, or returned in
// a `result<T>` by as_expected().
#pragma once

#include <expected>
#include <source_location>
#include <string>
#include <system_error>

#include "heddle/base/language.hh"

namespace heddle {

/// The outcome of an operation without throwing.
template <class T>
using result = std::expected<T, std::error_code>;

/// The exception of an awaited operation: its error code, and the line that awaited it if known.
class failure : public std::system_error {
 public:
  explicit failure(std::error_code code) : std::system_error(code) {}
  failure(std::error_code code, const char* what) : std::system_error(code, what) {}
  failure(std::error_code code, const std::string& what) : std::system_error(code, what) {}
};

/// Codes that the runtime itself produces; each compares equal to the std::errc of the same name.
[[nodiscard]] inline std::error_code canceled_error() noexcept {
  return std::make_error_code(std::errc::operation_canceled);
}
[[nodiscard]] inline std::error_code timed_out_error() noexcept {
  return std::make_error_code(std::errc::timed_out);
}
/// Converts a negative kernel result (-errno) into an error code.
[[nodiscard]] inline std::error_code kernel_error(int negative_errno) noexcept {
  return {-negative_errno, std::generic_category()};
}

/// Called when an assertion fails; must not return. Thread: any. Set once, before threads start.
using assert_hook = void (*)(const char* condition, const char* advice, const char* file, int line);
assert_hook set_assert_hook(assert_hook hook) noexcept;

namespace detail {
[[noreturn, gnu::cold, gnu::noinline]] void assertion_failed(const char* condition,
                                                             const char* advice, const char* file,
                                                             int line);
[[noreturn, gnu::cold, gnu::noinline]] void throw_failure(std::error_code code);
}  // namespace detail

}  // namespace heddle

/// Checks a rule that only a bug can break; stays on in release. The advice tells how to fix the
/// bug.
#define HEDDLE_ASSERT(condition, advice) \
  ((condition) ? (void)0                 \
               : ::heddle::detail::assertion_failed(#condition, advice, __FILE__, __LINE__))

// SPDX-License-Identifier: MIT
// What goes wrong, in two kinds. A misuse or a bug of ours is caught by HEDDLE_ASSERT, which names
// the place and what to do, and ends in one settable hook (the default writes to stderr and
// aborts). A failure of the world is a std::error_code, thrown as `failure` with the line that
// waited, or returned in a `result<T>` by as_expected().
#pragma once

#include <expected>
#include <source_location>
#include <string>
#include <system_error>

namespace heddle {

/// The outcome of an operation without throwing.
template <class T>
using result = std::expected<T, std::error_code>;

/// What an awaited operation throws: the code, and the line that awaited it when that is known.
class failure : public std::system_error {
 public:
  explicit failure(std::error_code code) : std::system_error(code) {}
  failure(std::error_code code, const char* what) : std::system_error(code, what) {}
  failure(std::error_code code, const std::string& what) : std::system_error(code, what) {}
};

/// Codes the runtime itself produces; both compare equal to the std::errc of the same name.
[[nodiscard]] inline std::error_code canceled_error() noexcept {
  return std::make_error_code(std::errc::operation_canceled);
}
[[nodiscard]] inline std::error_code timed_out_error() noexcept {
  return std::make_error_code(std::errc::timed_out);
}
/// Turns a negative kernel result (-errno) into a code.
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

/// Checks a rule that only a bug can break; stays on in release. The advice says what to do.
#define HEDDLE_ASSERT(condition, advice) \
  ((condition) ? (void)0                 \
               : ::heddle::detail::assertion_failed(#condition, advice, __FILE__, __LINE__))

// SPDX-License-Identifier: MIT
// The assertion hook, and the only function that throws failures.
#include "heddle/base/error.hh"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace heddle {
namespace {

void print_and_abort(const char* condition, const char* advice, const char* file, int line) {
  std::fprintf(stderr, "heddle: broken rule: %s\n  at %s:%d\n  help: %s\n", condition, file, line,
               advice);
  std::abort();
}

std::atomic<assert_hook> current_hook{&print_and_abort};

}  // namespace

assert_hook set_assert_hook(assert_hook hook) noexcept {
  return current_hook.exchange(hook != nullptr ? hook : &print_and_abort);
}

namespace detail {

void assertion_failed(const char* condition, const char* advice, const char* file, int line) {
  current_hook.load()(condition, advice, file, line);
  std::abort();  // the hook returned, which it must not do
}

void throw_failure(std::error_code code) { throw failure(code); }

}  // namespace detail
}  // namespace heddle

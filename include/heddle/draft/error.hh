// SPDX-License-Identifier: MIT
// Errors of a program that came from Draft. An error.NAME is an exception; caught() turns it into
// a value, which is what `or` was. A fault (an overflow, an index out of bounds) is an exception of
// its own: caught() lets it pass.
//
//   auto reply = co_await draft::caught(ask(server));
//   if (!reply) draft::print("no answer: ", reply.error());
#pragma once

#include <cerrno>
#include <concepts>
#include <exception>
#include <expected>
#include <new>
#include <source_location>
#include <string_view>
#include <system_error>

#include "heddle/abi/errors.hh"
#include "heddle/base/language.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/task.hh"

namespace heddle::from_draft {

/// error.NAME of Draft. The names of the system's errors have the system's codes; every other name
/// has a code from 4096 on, computed from its letters, so equal names are equal errors everywhere.
/// `name` must stay, as a literal does.
class error : public std::exception {
 public:
  /// The error `none`: the value of an error field that the program has not set. `fail` turns it
  /// into error.invalid.
  error() noexcept : name_("none"), code_(0) {}
  explicit error(const char* name) noexcept : name_(name), code_(abi::error_code(name)) {}
  /// A code of the system. In a context whose deadline has passed, a cancellation is a timeout.
  [[nodiscard]] static error of(const std::error_code& code) noexcept {
    return of_code(code == std::errc::operation_canceled && past_deadline() ? ETIMEDOUT
                                                                            : code.value());
  }
  /// A code that came from C. Its name is "of the program" if no thread has ended with it.
  [[nodiscard]] static error of_code(int code) noexcept {
    return {heddle_error_name(code).data, code};
  }
  /// The answer of a call of heddle/abi.h, a negative number.
  [[nodiscard]] static error of_status(std::int64_t status) noexcept {
    return of_code(static_cast<int>(-status));
  }
  /// The error of a job whose thread ended with a fault.
  [[nodiscard]] static error fault() noexcept { return of_code(-HEDDLE_FAULT); }

  [[nodiscard]] const char* name() const noexcept { return name_; }
  [[nodiscard]] const char* what() const noexcept override { return name_; }
  [[nodiscard]] int code() const noexcept { return code_; }
  friend bool operator==(const error& a, const error& b) noexcept { return a.code_ == b.code_; }

 private:
  error(const char* name, int code) noexcept : name_(name), code_(code) {}
  [[nodiscard]] static bool past_deadline() noexcept {
    const worker* const w = worker::current();
    return w != nullptr && w->current_context().deadline() <= w->now;
  }

  const char* name_;
  int code_;
};

/// The exception of a `fail`. An error that was never set, or that C gave, may be none: `fail`
/// makes error.invalid of it.
[[nodiscard]] inline error failing(const error& e) noexcept {
  return e.code() > 0 ? e : error("invalid");
}

/// A bug of the program, reported on standard error where it happens. It ends the thread.
class fault : public std::exception {
 public:
  explicit fault(const char* what) noexcept : what_(what) {}
  [[nodiscard]] const char* what() const noexcept override { return what_; }

 private:
  const char* what_;
};
/// Reports the line and throws a fault.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_with(const char* what,
                                                             const std::source_location& where) {
  std::fprintf(stderr, "heddle: fault at %s:%u: %s\n", where.file_name(),
               static_cast<unsigned>(where.line()), what);
  throw fault(what);
}

/// The value of a result of Heddle's; throws its error as Draft's.
template <class T>
T value_of(result<T> r) {
  if (!r) throw error::of(r.error());
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}
/// The answer of a call of heddle/abi.h: throws its error if it is one.
inline void check_status(std::int64_t status) {
  if (status < 0) [[unlikely]]
    throw error::of_status(status);
}
/// The worker that runs this thread, for calls of heddle/abi.h.
[[nodiscard]] inline heddle_worker* this_worker() noexcept {
  return reinterpret_cast<heddle_worker*>(&worker::here());
}

/// A value, or the error in its place.
template <class T>
using outcome = std::expected<T, error>;

/// The error that is in flight; another exception passes, a fault among them.
[[nodiscard, gnu::cold, gnu::noinline]] inline error error_in_flight() {
  try {
    throw;
  } catch (const error& e) {
    return e;
  } catch (const std::system_error& e) {
    return error::of(e.code());
  } catch (const std::bad_alloc&) {
    return error("memory");
  }
}

/// The value or the error of a task. A fault passes.
template <class T>
[[nodiscard("co_await it")]] task<outcome<T>> caught(task<T> what) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(what);
      co_return outcome<T>();
    } else {
      co_return outcome<T>(co_await std::move(what));
    }
  } catch (...) {
    co_return std::unexpected(error_in_flight());
  }
}
/// The value or the error of a call that does not wait.
template <std::invocable F>
auto caught(F f) -> outcome<std::invoke_result_t<F&>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
      f();
      return {};
    } else {
      return f();
    }
  } catch (...) {
    return std::unexpected(error_in_flight());
  }
}

}  // namespace heddle::from_draft

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
  explicit error(const char* name) noexcept : name_(name), code_(code_of(name)) {}
  /// A code of the system. In a context whose deadline has passed, a cancellation is a timeout.
  [[nodiscard]] static error of(const std::error_code& code) noexcept {
    return of_code(code == std::errc::operation_canceled && past_deadline() ? ETIMEDOUT
                                                                            : code.value());
  }
  /// A code that came from C.
  [[nodiscard]] static error of_code(int code) noexcept {
    for (const row& r : rows)
      if (r.code == code) return {r.name, code};
    return {code == 0 ? "none" : code >= 4096 ? "of the program" : "system", code};
  }
  /// The error of a job whose thread ended with a fault.
  [[nodiscard]] static error fault() noexcept { return of_code(4094); }

  [[nodiscard]] const char* name() const noexcept { return name_; }
  [[nodiscard]] const char* what() const noexcept override { return name_; }
  [[nodiscard]] int code() const noexcept { return code_; }
  friend bool operator==(const error& a, const error& b) noexcept { return a.code_ == b.code_; }

 private:
  struct row {
    const char* name;
    int code;
  };
  static constexpr row rows[] = {
      {"eof", 4095},         {"canceled", ECANCELED},   {"timeout", ETIMEDOUT},
      {"reset", ECONNRESET}, {"refused", ECONNREFUSED}, {"memory", ENOMEM},
      {"closed", EPIPE},     {"not_found", ENOENT},     {"denied", EACCES},
      {"denied", EXDEV},     {"exists", EEXIST},        {"in_use", EADDRINUSE},
      {"too_big", EMSGSIZE}, {"full", ENOBUFS},         {"empty", EAGAIN},
      {"syntax", EILSEQ},    {"range", ERANGE},         {"unreachable", EHOSTUNREACH},
      {"no_space", ENOSPC},  {"is_directory", EISDIR},  {"missed", EOVERFLOW},
      {"invalid", EINVAL},
  };

  error(const char* name, int code) noexcept : name_(name), code_(code) {}
  [[nodiscard]] static int code_of(std::string_view name) noexcept {
    for (const row& r : rows)
      if (r.name == name) return r.code;
    std::uint32_t hash = 2166136261U;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return static_cast<int>(4096 + hash % 1000000000U);
  }
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
/// Every wait begins with it.
inline void check_canceled() {
  if (worker::running().current_context().canceled()) throw error::of(canceled_error());
}

/// A value, or the error in its place.
template <class T>
using outcome = std::expected<T, error>;

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
  } catch (const error& e) {
    co_return std::unexpected(e);
  } catch (const std::system_error& e) {
    co_return std::unexpected(error::of(e.code()));
  } catch (const std::bad_alloc&) {
    co_return std::unexpected(error("memory"));
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
  } catch (const error& e) {
    return std::unexpected(e);
  } catch (const std::system_error& e) {
    return std::unexpected(error::of(e.code()));
  } catch (const std::bad_alloc&) {
    return std::unexpected(error("memory"));
  }
}

}  // namespace heddle::from_draft

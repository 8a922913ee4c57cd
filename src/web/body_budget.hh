// SPDX-License-Identifier: MIT
// Limits on the body of one request: its size, and the time in which the client sends nothing.
// Every kind of connection reads bodies within them.
#pragma once

#include <cstdint>
#include <string_view>
#include <system_error>

#include "heddle/base/clock.hh"
#include "heddle/web/server_options.hh"

namespace heddle::http {

struct server_counters;

/// The budget of one body. Thread: the connection's color.
struct body_budget {
  std::uint64_t bytes_max = 0;
  nanoseconds pause_max{};   ///< longest pause between two parts
  std::uint64_t read = 0;    ///< bytes read so far
  nanoseconds waited{};      ///< total time spent waiting for the client
  int failed = 0;            ///< the status that tells why reading failed; 0: it has not failed
  bool lost_client = false;  ///< reading failed because the connection did

  /// Resets it for the next request. A request without a body needs only `bytes_max` and `failed`.
  void begin(const server_options& options, bool has_body) noexcept {
    bytes_max = options.bounds.body_bytes_max;
    failed = 0;
    lost_client = false;
    if (!has_body) return;
    pause_max = options.body_timeout;
    read = 0;
    waited = {};
  }
  /// How long the client may send nothing from now on. Only time spent waiting for the client
  /// counts, and each byte that it has sent adds time.
  [[nodiscard]] nanoseconds patience(const server_options& options) const noexcept;
  /// Counts the failure under its status (400, 408, 413) and throws it.
  [[noreturn]] void fail(server_counters& counters, int status, std::errc code,
                         std::string_view why);
  [[noreturn]] void fail_too_large(server_counters& counters);
  /// Throws the error of a connection that has failed.
  [[noreturn]] void lose_client(std::error_code why);
};

}  // namespace heddle::http

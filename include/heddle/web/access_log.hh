// SPDX-License-Identifier: MIT
// The access log: one line for each answer, readable or as JSON. Lines are gathered in memory and
// written a few times a second, without blocking the worker. If the reader of the log is too slow,
// lines are dropped; the log reports how many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "heddle/base/clock.hh"
#include "heddle/core/task.hh"
#include "heddle/web/server.hh"

namespace heddle::http {

enum class log_form : std::uint8_t {
  plain,     ///< 12:00:01  200  GET /index.html  1240 B  0.3 ms  127.0.0.1:51734
  json,      ///< one object a line; docs/reference/serve.md lists the fields
  common,    ///< 127.0.0.1 - - [31/Jan/2026:12:00:01 +0000] "GET / HTTP/1.1" 200 1240
  combined,  ///< a plain line with "Referer" and "User-Agent"
};

struct access_log_options {
  log_form form = log_form::plain;
  std::size_t bytes_max = 1 << 20;     ///< gathered and not yet written; further lines are dropped
  std::size_t target_bytes_max = 512;  ///< the longest target in a line; longer ones are cut
  nanoseconds interval = std::chrono::milliseconds(200);  ///< between two writes
};

/// Thread: one color.
/// Owns: the lines not yet written; the descriptor stays the caller's.
/// Fails: never; lines that cannot be written are dropped.
///
///   access_log log({.form = log_form::json});
///   options.log = [&log](const access& a) { log.add(a); };
///   side.spawn(log.write_to(STDOUT_FILENO));   // until it is cancelled
///   co_await log.flush(STDOUT_FILENO);         // the last lines
class access_log {
 public:
  explicit access_log(access_log_options options = {}) : options_(options) {}

  /// Adds a line. A request cannot forge a line: the parser rejects control characters in a target,
  /// and JSON text is escaped.
  void add(const access& a);

  /// Writes gathered lines at each interval until it is cancelled. Cancel: at once, between two
  /// writes.
  [[nodiscard]] task<> write_to(int descriptor);
  /// Writes the gathered lines once, as long as the descriptor accepts them.
  [[nodiscard]] task<> flush(int descriptor);
  /// Takes the gathered lines out, without writing them.
  [[nodiscard]] std::string take();

  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  void add_plain(const access& a);
  void add_json(const access& a);
  void add_common(const access& a);
  void stamp();

  access_log_options options_;
  std::string text_;
  std::string stamp_;  // the time of the current second as text
  std::int64_t stamp_second_ = INT64_MIN;
  std::uint64_t lines_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t dropped_told_ = 0;
  bool torn_ = false;  // the last line written is incomplete
};

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// The access log: one line an answer, for people or as JSON. Lines are gathered and written a few
// times a second, and never block the worker: when whoever reads the log is too slow, lines are
// dropped and counted, and the log says how many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "heddle/base/clock.hh"
#include "heddle/core/task.hh"
#include "heddle/http/server.hh"

namespace heddle::http {

enum class log_form : std::uint8_t {
  plain,  ///< 12:00:01  200  GET /index.html  1240 B  0.3 ms  127.0.0.1:51734
  json,   ///< one object a line; the fields stand in docs/reference/serve.md
};

struct access_log_options {
  log_form form = log_form::plain;
  std::size_t bytes_max = 1 << 20;     ///< gathered and not written; further lines are dropped
  std::size_t target_bytes_max = 512;  ///< of a target in a line; the rest is left out
  nanoseconds interval = std::chrono::milliseconds(200);  ///< between two writes
};

/// Thread: one color.
/// Owns: the lines that are not written; the descriptor stays the caller's.
/// Fails: never; what cannot be written is dropped.
///
///   access_log log({.form = log_form::json});
///   options.log = [&log](const access& a) { log.add(a); };
///   side.spawn(log.write_to(STDOUT_FILENO));   // until it is cancelled
///   co_await log.flush(STDOUT_FILENO);         // the last lines
class access_log {
 public:
  explicit access_log(access_log_options options = {}) : options_(options) {}

  /// No line can be forged: the parser lets no control character into a target, and JSON is quoted.
  void add(const access& a);

  /// Writes what there is, again and again. Cancel: at once, between two writes.
  [[nodiscard]] task<> write_to(int descriptor);
  /// Writes what there is, as long as the descriptor takes it.
  [[nodiscard]] task<> flush(int descriptor);
  /// Gives the text away instead.
  [[nodiscard]] std::string take();

  [[nodiscard]] std::uint64_t lines() const noexcept { return lines_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  void add_plain(const access& a);
  void add_json(const access& a);
  void stamp();

  access_log_options options_;
  std::string text_;
  std::string stamp_;  // the second's text, made once
  std::int64_t stamp_second_ = INT64_MIN;
  std::uint64_t lines_ = 0;
  std::uint64_t dropped_ = 0;
  std::uint64_t dropped_told_ = 0;
  bool torn_ = false;  // a line of which only a part could be written stands at the end
};

}  // namespace heddle::http

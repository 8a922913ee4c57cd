// SPDX-License-Identifier: MIT
// What `heddle serve` can be told, and where from: a file, the environment, flags. One table holds
// each setting once: its name is the flag (--NAME), the line in the file (NAME = VALUE) and, in
// capitals, the variable (HEDDLE_SERVE_NAME). Flags win over the environment, the environment wins
// over the file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/http/access_log.hh"
#include "heddle/http/limits.hh"
#include "heddle/io/network.hh"

namespace heddle::cli {

struct serve_options {
  std::string directory = ".";
  int port = -1;  ///< -1: 8000, and when interactive the next that is free
  bool everywhere = false;
  std::string bind;  ///< an address to listen on instead of loopback or every interface

  bool listing = true;
  bool hidden = false;
  bool spa = false;
  bool cors = false;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string auth;  ///< USER:PASSWORD, or nothing
  bool precompressed = true;
  bool compress = false;

  std::optional<http::log_form> log = http::log_form::plain;
  bool metrics = false;
  bool qr = false;

  std::string handover;  ///< the socket through which the next process takes over
  std::string config;
  std::string driver;

  unsigned workers = 1;
  std::uint64_t connections_max = 16384;
  /// 0: three quarters of connections_max.
  std::uint64_t connections_per_address_max = 0;
  std::vector<network> trusted;
  http::limits bounds = {.body_bytes_max = 256 * 1024};
  std::uint64_t pipeline_max = 64;
  std::uint64_t send_bytes_max = 256 * 1024;
  std::uint64_t file_bytes_max = 16ull << 20;
  std::uint64_t ready_bytes_max = 2ull << 20;
  std::uint64_t cache_bytes_max = 64ull << 20;
  std::uint64_t cached_file_bytes_max = 1ull << 20;
  std::uint64_t held_bytes_max = 0;
  std::uint64_t memory_bytes_max = 64ull << 30;
  nanoseconds idle_timeout = std::chrono::seconds(75);
  nanoseconds header_timeout = std::chrono::seconds(10);
  nanoseconds body_timeout = std::chrono::seconds(30);
  std::uint32_t body_bytes_per_second_min = 240;
  nanoseconds write_timeout = std::chrono::seconds(30);
  nanoseconds trust = std::chrono::seconds(1);
  nanoseconds drain_timeout = std::chrono::seconds(0);
  nanoseconds queue_delay = std::chrono::milliseconds(100);
  nanoseconds retry_after = std::chrono::seconds(1);

  /// What stands in every answer: `headers`, and what `cors` means.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> fields_of_answers() const;
};

/// A value that a setting does not take; what() says which would do.
struct bad_setting : std::invalid_argument {
  using invalid_argument::invalid_argument;
};

enum class setting_kind : std::uint8_t {
  once,      ///< takes a value; the last one counts
  repeated,  ///< takes a value each time; in a variable, one a line
  on_off,    ///< without a value it means on
};

struct setting {
  std::string_view name;
  char letter;  ///< the short flag, 0 when there is none
  setting_kind kind;
  std::string_view value_name;
  std::string_view help;
  bool limit;  ///< shown by --help-limits instead of --help
  /// Throws bad_setting.
  void (*set)(serve_options& o, std::string_view value);
};

/// All of them, in the order of the help text.
[[nodiscard]] std::span<const setting> settings();

/// One thing that was asked for, and by whom ("--port", "HEDDLE_SERVE_PORT", "heddle.conf:3").
struct setting_request {
  const setting* what;
  std::string value;
  std::string where;
};

/// Everything that was asked for, put together. Throws bad_setting whose text names the place.
/// `flags` come from the command line; the file is read again at each call.
[[nodiscard]] serve_options put_together(std::span<const setting_request> flags);

/// "--help" and "--help-limits".
[[nodiscard]] std::string serve_help(bool limits);

}  // namespace heddle::cli

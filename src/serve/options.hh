// SPDX-License-Identifier: MIT
// The settings of `heddle serve` and `heddle proxy`, which come from a file, the environment and
// flags. A verb's table contains each setting once. Its name is the flag (--NAME), the line in the
// file (NAME = VALUE) and, in capitals, the variable (HEDDLE_SERVE_NAME). Flags override the
// environment, and the environment overrides the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/http/limits.hh"
#include "heddle/io/network.hh"
#include "heddle/proxy/options.hh"
#include "heddle/web/access_log.hh"
#include "serve/acme_settings.hh"
#include "serve/pattern.hh"
#include "serve/rate.hh"
#include "serve/redirects.hh"
#include "serve/values.hh"

namespace heddle::serve {

/// A header field for the files and lists at some paths.
struct path_field {
  path_pattern about;
  std::string name;
  std::string value;
};

struct serve_options {
  std::shared_ptr<http::proxy_options> proxy;  ///< `heddle proxy`; null: the directory is served
  std::string directory = ".";
  int port = -1;  ///< -1: 8000, or in an interactive session the next free port
  bool everywhere = false;
  std::vector<std::string> listen;  ///< more places: ADDRESS:PORT or unix:PATH
  std::string bind;  ///< an address to listen on instead of loopback or every interface

  bool listing = true;
  bool hidden = false;
  bool spa = false;
  bool cors = false;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string auth;  ///< USER:PASSWORD, or empty
  std::vector<path_field> path_fields;
  std::vector<redirect_rule> redirects;
  std::vector<rate_rule> rates;
  std::vector<std::pair<std::string, std::string>> sites;  ///< name, folder
  std::vector<path_pattern> uploads;  ///< where files may be put; empty: nowhere
  std::uint64_t upload_bytes_max = 64ull << 20;
  bool upload_replace = false;
  bool archives = false;
  std::uint64_t archive_files_max = 100'000;
  bool clean_urls = false;
  bool precompressed = true;
  bool compress = false;

  std::optional<http::log_form> log = http::log_form::plain;
  std::string log_file;  ///< instead of standard output; SIGUSR1 opens it again
  bool metrics = false;
  bool qr = false;

  std::vector<std::pair<std::string, std::string>> tls;  ///< files: certificate, key
  acme_settings acme;                                    ///< certificates are ordered
  bool tls_own_records = false;  ///< TLS 1.3 records are sealed here, not by OpenSSL's SSL object
  int redirect_http = -1;        ///< a port on which http is sent to https; -1: none
  nanoseconds hsts{};            ///< how long browsers come by https only; zero: they are not told

  std::string user_device;        ///< TCP in the program over this TUN device; empty: the kernel's
  std::string user_address;       ///< the stack's address, with the length of its network
  std::uint64_t user_memory = 0;  ///< bytes of all stacks together; 0: no such bound
  std::uint64_t user_shard_memory = 0;  ///< bytes of each stack; 0: the stack's default
  bool user_refuses = false;            ///< a new connection without memory is reset
  std::uint32_t user_dump = 20;         ///< connections of each stack that a dump lists
  std::string user_trace;               ///< a file for the packets, as pcap; empty: none
  std::uint64_t user_trace_max = std::uint64_t{256} << 20;  ///< bytes of that file

  std::string handover;  ///< the Unix socket at which the next server asks
  std::string config;
  bool check = false;  ///< look at the settings only
  std::string note;    ///< a line for the person who starts the server; empty: none
  std::string driver;

  unsigned workers = 1;
  std::uint64_t connections_max = 16384;
  /// Connections from one address; 0: three quarters of connections_max.
  std::uint64_t connections_per_address_max = 0;
  std::vector<network> trusted;
  std::vector<network> trusted_proxies;  ///< proxies whose word about the client counts
  http::forwarded_field trusted_field = http::forwarded_field::x_forwarded_for;
  bool proxy_protocol = false;  ///< trusted proxies begin connections with a PROXY header
  http::limits bounds = {.body_bytes_max = 256 * 1024};
  std::uint64_t pipeline_max = 64;
  std::uint64_t send_bytes_max = 256 * 1024;
  std::uint64_t file_bytes_max = 16ull << 20;
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

  /// Whether connections are in TLS.
  [[nodiscard]] bool secure() const noexcept { return !tls.empty() || !acme.email.empty(); }
  /// The header fields of every answer: `headers`, and those for `cors`.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> fields_of_answers() const;
};

enum class setting_kind : std::uint8_t {
  once,      ///< takes a value; the last one is used
  repeated,  ///< takes a value each time; in a variable, one per line
  on_off,    ///< without a value it means on
  pairs,     ///< takes two values each time; in a line, with a space between
};

/// The help that shows a setting: --help, --help-site or --help-limits.
enum class help_page : std::uint8_t { common, site, limits };

struct setting {
  std::string_view name;
  char letter;  ///< the short flag; 0 if there is none
  setting_kind kind;
  std::string_view value_name;
  std::string_view help;
  help_page page;
  /// Sets a value. Throws bad_setting.
  void (*set)(serve_options& o, std::string_view value);
};

/// All settings of `heddle serve` in the order of the help text.
[[nodiscard]] std::span<const setting> settings();

/// The settings of a verb.
struct setting_table {
  std::string_view verb;             ///< "serve"
  std::string_view variable_prefix;  ///< "HEDDLE_SERVE_"
  std::span<const setting> all;
  serve_options (*defaults)();
  /// Rejects settings that contradict each other. Throws bad_setting.
  void (*check)(const serve_options& o);
};
[[nodiscard]] const setting_table& serve_settings();
[[nodiscard]] const setting_table& proxy_settings();

/// One requested setting and its source ("--port", "HEDDLE_SERVE_PORT", "heddle.conf:3").
struct setting_request {
  const setting* what;
  std::string value;
  std::string where;
};

/// Combines all sources. Throws bad_setting, whose text names the source. `flags` come from the
/// command line; each call reads the file again.
[[nodiscard]] serve_options put_together(const setting_table& of,
                                         std::span<const setting_request> flags);

[[nodiscard]] std::string serve_help(help_page page);

}  // namespace heddle::serve

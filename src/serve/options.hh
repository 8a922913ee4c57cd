// SPDX-License-Identifier: MIT
// The options of `heddle serve` and `heddle proxy`, which the settings set (setting.hh).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/net/provider.hh"
#include "heddle/proxy/options.hh"
#include "heddle/sched/runtime_options.hh"
#include "heddle/web/access_log.hh"
#include "heddle/web/server_options.hh"
#include "heddle/web/static_files.hh"
#include "serve/acme_settings.hh"
#include "serve/pattern.hh"
#include "serve/rate.hh"
#include "serve/redirects.hh"
#include "serve/surroundings.hh"

namespace heddle::serve {

/// A header field for the files and lists at some paths.
struct path_field {
  path_pattern about;
  std::string name;
  std::string value;
};

/// The port of a server whose settings name none.
inline constexpr int default_port = 8000;

/// The options of the parts that the settings are about, and the choices of `heddle serve` itself.
/// A limit is a member of the part that obeys it: its default is there.
struct serve_options {
  bool is_proxy = false;      ///< `heddle proxy`: requests are sent on; false: files are served
  http::proxy_options proxy;  ///< the settings of `heddle proxy`
  std::string directory = ".";
  int port = -1;  ///< -1: default_port, or in an interactive session the next free port
  bool everywhere = false;
  std::vector<std::string> listen;  ///< more places: ADDRESS:PORT or unix:PATH
  std::string bind;  ///< an address to listen on instead of loopback or every interface

  http::static_options files;  ///< for all folders; limits of memory are for all workers
  bool cors = false;
  std::string auth;  ///< USER:PASSWORD, or empty
  std::vector<path_field> path_fields;
  std::vector<redirect_rule> redirects;
  std::vector<rate_rule> rates;
  std::vector<std::pair<std::string, std::string>> sites;  ///< name, folder
  std::vector<path_pattern> uploads;  ///< where files may be put; empty: nowhere
  std::uint64_t upload_bytes_max = 64ull << 20;
  bool upload_replace = false;
  bool pages = false;                   ///< *.page files are pages
  std::vector<std::string> origins;     ///< origins that pages may fetch from
  std::uint32_t page_connections = 64;  ///< connections to one origin; more sources wait
  bool archives = false;
  std::uint64_t archive_files_max = 100'000;

  std::optional<http::log_form> log = http::log_form::plain;
  std::string log_file;  ///< instead of standard output; SIGUSR1 opens it again
  bool metrics = false;
  bool qr = false;

  std::vector<std::pair<std::string, std::string>> tls;  ///< files: certificate, key
  acme_settings acme;                                    ///< certificates are ordered
  bool tls_own_records = false;  ///< TLS 1.3 records are sealed here, not by OpenSSL's SSL object
  int redirect_http = -1;        ///< a port on which http is sent to https; -1: none
  nanoseconds hsts{};            ///< how long browsers come by https only; zero: they are not told

  std::optional<net::user_options> user;  ///< TCP in the program; nullopt: the kernel's
  std::uint64_t user_memory = 0;          ///< bytes of all stacks together; 0: no such bound

  /// Where the service runs. Thread: any.
  std::shared_ptr<surroundings> around = std::make_shared<surroundings>();
  std::string handover;  ///< the Unix socket at which the next server asks
  std::string config;
  bool check = false;  ///< look at the settings only
  std::string note;    ///< a line for the person who starts the server; empty: none

  runtime_options runtime = {.driver = {}, .workers = 1};
  /// Limits of connections and requests. A limit that all workers share is divided among them by
  /// class shard, which also adds its functions.
  http::server_options server = {.bounds = {.body_bytes_max = 256 * 1024}};
  bool proxy_protocol = false;  ///< trusted proxies begin connections with a PROXY header
  nanoseconds drain_timeout{};  ///< from the first Ctrl-C until all connections are closed; 0: none

  /// Whether connections are in TLS.
  [[nodiscard]] bool secure() const noexcept { return !tls.empty() || !acme.email.empty(); }
  /// The header fields of every answer: those of `files`, and those for `cors` and `hsts`.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> fields_of_answers() const;
};

}  // namespace heddle::serve

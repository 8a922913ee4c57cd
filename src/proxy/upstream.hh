// SPDX-License-Identifier: MIT
// One upstream: where it is, its connections, and whether it is up.
//
// An upstream is up, down because health checks failed (until `rise` good ones in a row), or paused
// because requests failed (for failure_limit::pause). A paused one gets no requests as long as
// another one is up. Everything happens in the proxy's color.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/client/detail/server_connections.hh"
#include "heddle/core/task.hh"
#include "heddle/http/url.hh"
#include "heddle/io/address.hh"
#include "heddle/io/stream.hh"
#include "heddle/proxy/options.hh"
#include "heddle/proxy/reverse_proxy.hh"
#include "heddle/sync/semaphore.hh"

namespace heddle::http::detail {

/// A failure above the connection: TLS. Its own text says why; the code's would mislead, because a
/// refused certificate is "Permission denied".
class layer_failure : public failure {
 public:
  explicit layer_failure(const std::system_error& e);
  [[nodiscard]] const char* what() const noexcept override { return why_.c_str(); }

 private:
  std::string why_;
};

class upstream {
 public:
  /// Throws failure(invalid_argument) for a text that names none.
  upstream(std::string_view text, const proxy_options& options);
  upstream(const upstream&) = delete;

  // Connections.

  /// A new one. Fails as connecting or TLS does; timed_out after proxy_timeouts::connect.
  /// `client` is for the PROXY protocol. `http1_only`: TLS offers no other version.
  [[nodiscard]] task<stream> connect(address client, bool http1_only) const;
  /// The place of one request.
  [[nodiscard]] task<place> find_place(address client, server_connections::wanted by);

  // Whether it is up.

  [[nodiscard]] bool up(time_point now) const noexcept { return healthy_ && now >= paused_until_; }
  [[nodiscard]] bool healthy() const noexcept { return healthy_; }
  /// A request succeeded or failed; `why` is for the log.
  void note_success();
  void note_failure(const std::string& why);
  /// A health check did.
  void note_check(bool good, const std::string& why);

  const std::string name;       ///< as it was given
  const std::string authority;  ///< for Host: "app.example.com:3000"
  upstream_counters counters;
  semaphore room;  // one permit a request
  server_connections connections;

  [[nodiscard]] bool secure() const noexcept { return static_cast<bool>(layer_); }
  /// The upstream was named with h2c://, so nothing says that it speaks HTTP/1.1, too.
  [[nodiscard]] bool may_lack_http1() const noexcept;

 private:
  [[nodiscard]] task<stream> open(address client, bool http1_only) const;
  [[nodiscard]] task<stream> reach() const;
  void say(const std::string& line) const;

  const proxy_options& options_;
  std::string path_;  // a Unix socket's
  std::optional<url> at_;
  address literal_;                   // if the host is an address
  upstream_layer layer_;              // for https
  upstream_layer layer_http1_;        // offers no other version
  std::deque<time_point> failed_at_;  // at most failure_limit::count
  time_point paused_until_ = time_point::min();
  bool paused_ = false;  // said in the log
  bool healthy_ = true;
  std::uint32_t in_a_row_ = 0;  // checks that say the opposite
};

}  // namespace heddle::http::detail

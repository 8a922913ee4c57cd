// SPDX-License-Identifier: MIT
// One upstream: where it is, its connections, and whether it is up.
//
// An upstream is up, down because health checks failed (until `rise` good ones in a row), or paused
// because requests failed (for failure_limit::pause). A paused one gets no requests as long as
// another one is up. Everything happens in the proxy's color.
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/client/detail/http2_link.hh"
#include "heddle/core/task.hh"
#include "heddle/http/url.hh"
#include "heddle/io/address.hh"
#include "heddle/io/stream.hh"
#include "heddle/proxy/options.hh"
#include "heddle/proxy/reverse_proxy.hh"
#include "heddle/sync/mutex.hh"
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
  ~upstream();

  // Connections.

  /// An idle connection; a closed stream if there is none.
  [[nodiscard]] stream take_idle() noexcept;
  /// A new one. Fails as connecting or TLS does; timed_out after proxy_timeouts::connect.
  /// `client` is for the PROXY protocol. `http1_only`: TLS offers no other version.
  [[nodiscard]] task<stream> connect(address client, bool http1_only) const;
  void keep(stream&& on);
  /// Closes connections that are unused for too long, or that the upstream has ended.
  [[nodiscard]] task<> sweep();
  void close_idle() noexcept { idle_.clear(); }
  [[nodiscard]] std::size_t idle() const noexcept { return idle_.size(); }

  // Connections of HTTP/2 (upstream_http2.cc).

  /// A place for a request: a stream of such a connection; or a new connection of HTTP/1.1 alone;
  /// or neither, because the upstream speaks HTTP/1.1: take_idle() and connect() are for that.
  struct carrier {
    std::shared_ptr<http2_link> link = {};
    gate::hold permit = {};
    stream alone = {};
    bool reused = false;
  };
  [[nodiscard]] task<carrier> find_carrier();
  /// The place of one request on a new connection, which may turn out to be of HTTP/2.
  [[nodiscard]] carrier carrier_on(stream&& on);
  /// It answered HTTP_1_1_REQUIRED.
  void require_http1() noexcept { version_ = version::http1_required; }
  [[nodiscard]] const std::shared_ptr<const client_options>& link_options() const noexcept {
    return link_options_;
  }
  [[nodiscard]] bool is_http2(const stream& on) const noexcept;
  /// Connections on which no request is.
  [[nodiscard]] std::size_t unused_links() const noexcept;

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
  semaphore room;  // one permit a connection in use

  [[nodiscard]] bool secure() const noexcept { return static_cast<bool>(layer_); }

 private:
  struct idle_connection {
    stream on;
    time_point since;
  };
  /// The version of HTTP, as far as the last connection told.
  enum class version : std::uint8_t { unknown, http1, http2, http1_required };

  [[nodiscard]] carrier free_stream() const;
  [[nodiscard]] std::shared_ptr<http2_link> full_link() const;
  [[nodiscard]] bool may_share() const noexcept;
  [[nodiscard]] task<stream> open(address client, bool http1_only) const;
  [[nodiscard]] task<stream> reach() const;
  void say(const std::string& line) const;

  const proxy_options& options_;
  std::string path_;  // of a Unix socket
  std::optional<url> at_;
  address literal_;               // if the host is an address
  upstream_layer layer_;          // for https
  upstream_layer layer_http1_;    // offers no other version
  bool prior_knowledge_ = false;  // h2c
  version version_ = version::unknown;
  std::shared_ptr<const client_options> link_options_;
  std::vector<std::shared_ptr<http2_link>> links_;
  mutex connecting_;                    // held by the request that finds out the version
  std::uint64_t connect_failures_ = 0;  // of those
  std::exception_ptr last_failure_;
  std::vector<idle_connection> idle_;  // the most recently used last
  std::deque<time_point> failed_at_;   // at most failure_limit::count
  time_point paused_until_ = time_point::min();
  bool paused_ = false;  // said in the log
  bool healthy_ = true;
  std::uint32_t in_a_row_ = 0;  // checks that say the opposite
};

/// Whether the peer has ended the connection, or sent bytes that nothing asked for.
[[nodiscard]] task<bool> has_ended(const stream& on);

}  // namespace heddle::http::detail

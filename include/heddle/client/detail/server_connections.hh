// SPDX-License-Identifier: MIT
// The connections of one color to one server, in the client's role: unused ones of HTTP/1.1, each
// of which serves one request at a time, and those of HTTP/2, which many requests use at once
// (http2_link.hh). Requests of a client and of a proxy get their places here.
//
// Over TLS the server decides about the version of HTTP when a connection is made, so requests to a
// server whose version is not known wait for the request that connects.
//
// sweep() looks at unused connections about once in sweep_interval. It closes a connection that
// the server has ended, that has received bytes without a request, or that is older than
// unused_limit::time. A request that must not be sent twice looks again before it takes one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <system_error>
#include <vector>

#include "heddle/client/detail/http2_link.hh"
#include "heddle/core/task.hh"
#include "heddle/io/stream.hh"
#include "heddle/sync/mutex.hh"
#include "heddle/sync/semaphore.hh"

namespace heddle::http::detail {

/// The versions of HTTP that a server may speak.
enum class offered : std::uint8_t {
  http1,  ///< HTTP/1.1 alone
  alpn,   ///< the version on which TLS agrees
  http2,  ///< HTTP/2 without asking: prior knowledge (RFC 9113 section 3.3); HTTP/1.1 on demand
};

/// Unused connections, of one server or of several together.
struct unused_limit {
  std::size_t most;
  nanoseconds time;  ///< the longest for one connection
  std::size_t count = 0;
  bool shut = false;  ///< no connection is kept any more
};

/// The reason for which a request got no place.
enum class lacking : std::uint8_t {
  connection,  ///< as many are in use as there may be
  stream,      ///< all those of the connections of HTTP/2 are in use
  version,     ///< another request was still finding out the version
  http1,       ///< the server insists on HTTP/2
};

class no_place : public failure {
 public:
  no_place(std::error_code code, lacking what) : failure(code), what_missing(what) {}
  lacking what_missing;
};

/// A place for one request: a stream of a connection of HTTP/2, or a connection of HTTP/1.1 alone.
struct place {
  std::shared_ptr<http2_link> link = {};
  stream alone = {};
  gate::hold permit = {};  ///< for a stream of `link`, or for `alone`
  bool reused = false;     ///< the connection was there

  [[nodiscard]] explicit operator bool() const noexcept { return link != nullptr || alone; }
};

/// Makes connections for requests. Throws std::system_error.
class dialer {
 public:
  /// Makes a connection. `http1_only`: TLS offers no other version.
  [[nodiscard]] virtual task<stream> dial(bool http1_only) = 0;

 protected:
  ~dialer() = default;
};

/// Thread: the color of its owner.
class server_connections {
 public:
  /// The connections of HTTP/1.1 in use, and those of HTTP/2, are at most `most` together; their
  /// owner may count them itself.
  static constexpr std::uint32_t uncounted = 1u << 30;
  /// The pause between two looks at unused connections.
  static constexpr nanoseconds sweep_interval = std::chrono::seconds(1);

  server_connections(offered versions, std::uint32_t most,
                     std::shared_ptr<const client_options> options,
                     std::shared_ptr<unused_limit> unused);
  server_connections(const server_connections&) = delete;
  ~server_connections() { close_all(); }

  /// The needs of a request for its connection.
  struct wanted {
    time_point due;      ///< for a place; dial() has limits of its own
    bool fresh = false;  ///< HTTP/1.1: no connection that other requests have used
    bool http1_only = false;
    bool unrepeatable = false;
  };
  /// A place that is free at once and needs no check; false if there is none.
  [[nodiscard]] place find_now(const wanted& by);
  /// Waits for a place for a request, or makes a connection. Throws no_place, and the errors of
  /// dial(). Requests that wait for another request to connect fail with its error.
  [[nodiscard]] task<place> find(wanted by, dialer& connects);
  /// Keeps a connection that has served a request of HTTP/1.1, if both sides may use it again.
  void keep(stream&& on);

  /// Notes that the server answered HTTP_1_1_REQUIRED: requests go over HTTP/1.1 for
  /// client_http2::http1_required_time, or until forget_requirement().
  void require_http1() noexcept {
    spoken_ = version::http1_required;
    required_until_ = add_saturated(clock::now(), options_->http2.http1_required_time);
  }
  /// Whether requests go over HTTP/1.1 because the server answered so.
  [[nodiscard]] bool http1_required() const noexcept {
    return spoken_ == version::http1_required && clock::now() < required_until_;
  }
  /// Notes that HTTP/1.1 to the server has failed: perhaps the demand was meant for one request.
  void forget_requirement() noexcept { required_until_ = time_point::min(); }
  /// Whether new requests may become streams: the server speaks HTTP/2, or may do so.
  [[nodiscard]] bool may_share() const noexcept {
    return versions_ != offered::http1 && spoken_ != version::http1 && !http1_required();
  }
  /// Whether every request needs HTTP/1.1: by the options, or because the server said so.
  [[nodiscard]] bool only_http1() const noexcept {
    return versions_ == offered::http1 || http1_required();
  }
  /// Whether a new connection, made by dial(http1_only), is one of HTTP/2.
  [[nodiscard]] bool speaks_http2(const stream& on, bool http1_only) const noexcept;
  [[nodiscard]] const std::shared_ptr<const client_options>& options() const noexcept {
    return options_;
  }
  [[nodiscard]] std::size_t unused() const noexcept { return idle_.size() + unused_links_; }
  [[nodiscard]] bool empty() const noexcept { return idle_.empty() && links_.empty(); }

  /// Checks the unused connections, and closes old and ended connections.
  [[nodiscard]] task<> sweep();
  /// Closes all connections, except connections of HTTP/1.1 that serve a request now.
  void close_all() noexcept;

 private:
  struct idle_connection {
    stream on;
    time_point since;
  };
  struct shared_link {
    std::shared_ptr<http2_link> on;
    gate::hold permit;
    bool counted = false;  // among the unused ones
  };
  /// The version that the last connection showed. Each of the last two rules out new streams, the
  /// last one for a time.
  enum class version : std::uint8_t { unknown, http2, http1, http1_required };

  [[nodiscard]] bool shares(const wanted& by) const noexcept {
    return may_share() && !by.http1_only;
  }
  [[nodiscard]] stream take_idle();
  [[nodiscard]] place free_stream() const;
  [[nodiscard]] std::shared_ptr<http2_link> full_link() const;
  [[nodiscard]] task<place> place_alone(wanted by, dialer& connects);
  [[nodiscard]] task<place> place_first(wanted by, dialer& connects);
  void share(place& made);
  void note_use(http2_link& link);
  void forget(const http2_link& link) noexcept;

  const offered versions_;
  const std::shared_ptr<const client_options> options_;
  const std::shared_ptr<unused_limit> limit_;
  version spoken_ = version::unknown;
  time_point required_until_ = time_point::min();
  semaphore room_;                     // one permit a connection
  std::vector<idle_connection> idle_;  // the most recently used last
  std::vector<shared_link> links_;
  std::size_t unused_links_ = 0;
  mutex connecting_;            // held by the one request that finds out the version
  std::uint64_t failures_ = 0;  // requests whose connecting failed
  std::exception_ptr last_failure_;
};

}  // namespace heddle::http::detail

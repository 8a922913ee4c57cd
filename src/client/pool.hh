// SPDX-License-Identifier: MIT
// The connections of a client, by origin. A connection is leased to one request at a time; an
// unused one is watched by a task, which closes it when the server ends it, sends bytes that
// nothing asked for, or nothing needs it for the idle time.
//
// A connection of HTTP/2 is not leased: it stays in its origin as long as it takes requests, and
// has a task of its own (http2_link.hh).
//
// States of a connection: leased (the lease owns the stream) -> idle (listed in its origin, and
// watched) -> leased again, or closed. Everything happens in the client's color.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "heddle/client/options.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/task.hh"
#include "heddle/io/stream.hh"
#include "heddle/sync/mutex.hh"
#include "heddle/sync/semaphore.hh"

namespace heddle::http::detail {

class connection_pool;
class http2_link;

struct idle_connection {
  stream on;
  cancel_source taken;  // ends the watching task
  bool idle = true;
};

/// A connection of HTTP/2, which many requests use at once.
struct shared_connection {
  std::shared_ptr<http2_link> on;
  gate::hold permit;     // of the origin's connections
  bool counted = false;  // as an unused one
};

/// How a try to connect failed, for those that waited for its result.
struct connect_failure {
  std::error_code code;
  std::string text;
};

struct origin_connections {
  origin_connections(std::string origin, std::uint32_t most) : key(std::move(origin)), room(most) {}

  std::string key;
  semaphore room;                                      // one permit a connection
  std::vector<std::shared_ptr<idle_connection>> idle;  // the most recently used last

  // HTTP/2 (http2_pool.cc).
  std::vector<shared_connection> shared;
  mutex connecting;            // held by the one request that finds out the version
  std::uint64_t failures = 0;  // of these tries
  connect_failure last_failure;
  bool speaks_http1 = false;    // the last connection did
  bool http1_required = false;  // the server has said so
};

/// One connection for one request. It is closed at the end, unless keep() was called.
class lease {
 public:
  lease(std::shared_ptr<connection_pool> pool, std::shared_ptr<origin_connections> of) noexcept
      : pool_(std::move(pool)), of_(std::move(of)) {}
  lease(lease&&) noexcept = default;
  lease& operator=(lease&&) = delete;
  ~lease() { end(); }

  [[nodiscard]] task<> wait_for_room(time_point due);
  /// Takes an idle connection; false if there is none.
  [[nodiscard]] bool take_idle();
  /// Its connection is one of HTTP/2 from here on, which the pool shares among requests; the lease
  /// is over.
  [[nodiscard]] std::shared_ptr<http2_link> share(
      const std::shared_ptr<const client_options>& options);
  /// Puts the connection back into the pool.
  void keep();
  /// Closes the connection and gives its place to the next request.
  void end() noexcept;

  stream on;
  bool reused = false;

 private:
  std::shared_ptr<connection_pool> pool_;
  std::shared_ptr<origin_connections> of_;
  gate::hold permit_;
};

class connection_pool : public std::enable_shared_from_this<connection_pool> {
 public:
  connection_pool(std::uint32_t per_origin_max, std::uint32_t idle_max, nanoseconds idle_time)
      : per_origin_max_(per_origin_max), idle_max_(idle_max), idle_time_(idle_time) {}
  connection_pool(const connection_pool&) = delete;

  [[nodiscard]] lease of(const std::string& origin);
  [[nodiscard]] lease of(std::shared_ptr<origin_connections> origin) {
    return {shared_from_this(), std::move(origin)};
  }
  /// The connections of an origin. The pool forgets them when they are all closed; give them to
  /// done_with() at the end.
  [[nodiscard]] std::shared_ptr<origin_connections> origin(const std::string& key);
  void done_with(std::shared_ptr<origin_connections>&& of) noexcept {
    forget_if_unused(std::move(of));
  }
  /// Closes idle connections; those that are leased are closed later.
  void shut() noexcept;
  [[nodiscard]] std::size_t idle() const noexcept { return idle_; }

 private:
  friend class lease;
  [[nodiscard]] static task<> watch(std::shared_ptr<connection_pool> pool,
                                    std::shared_ptr<origin_connections> of,
                                    std::shared_ptr<idle_connection> c);
  /// A connection of HTTP/2 has become used or unused.
  void note_use(origin_connections& of, http2_link& link);
  void shut_shared() noexcept;
  void forget_shared(origin_connections& of, http2_link& link) noexcept;
  void add_idle(const std::shared_ptr<origin_connections>& of, stream&& on);
  void close_idle(origin_connections& of, idle_connection& c) noexcept;
  void forget_if_unused(std::shared_ptr<origin_connections>&& of) noexcept;

  std::unordered_map<std::string, std::shared_ptr<origin_connections>> origins_;
  std::uint32_t per_origin_max_;
  std::uint32_t idle_max_;
  std::size_t idle_ = 0;
  nanoseconds idle_time_;
  bool shut_ = false;
};

}  // namespace heddle::http::detail

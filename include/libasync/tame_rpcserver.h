/* SPDX-License-Identifier: MIT
 * A server of one program on a port of TCP: derive from tame::server_t, answer calls in dispatch(),
 * and make one for each connection in the factory's alloc_server(). Thread: one color.
 */
#pragma once

#include "arpc.h"
#include "tame.h"

namespace tame {

/// One connection. It must be made by new; it is deleted when the connection has ended and all its
/// calls are answered.
class server_t {
 public:
  explicit server_t(int fd, int verbosity = 0)
      : connection_(axprt_stream::alloc(fd)), verbosity_(verbosity) {}
  server_t(const server_t&) = delete;
  server_t& operator=(const server_t&) = delete;
  virtual ~server_t() {
    if (open_ != nullptr) --*open_;
  }
  /// Answers a call, now or later. It never gets null.
  virtual void dispatch(svccb* call) = 0;
  [[nodiscard]] virtual const rpc_program& get_prog() const = 0;
  /// Begins to serve; the factory calls it.
  void runloop();

 private:
  ptr<axprt_stream> connection_;
  ptr<asrv> server_;
  int verbosity_;
  friend class server_factory_t;
  std::shared_ptr<std::size_t> open_;  ///< count of the factory's connections
};

/// A factory must live as long as it serves.
class server_factory_t {
 public:
  server_factory_t() = default;
  server_factory_t(const server_factory_t&) = delete;
  server_factory_t& operator=(const server_factory_t&) = delete;
  virtual ~server_factory_t() = default;
  /// A factory overrides one of the two. `verbosity` is the factory's.
  [[nodiscard]] virtual server_t* alloc_server(int fd);
  [[nodiscard]] virtual server_t* alloc_server(int fd, int verbosity);
  void set_verbosity(int v) noexcept { verbosity_ = v; }
  /// At this many open connections, the next one waits.
  void set_connections_max(std::size_t n) noexcept { connections_max_ = n; }
  [[nodiscard]] std::size_t connections() const noexcept { return *open_; }
  [[nodiscard]] bool full() const noexcept { return *open_ >= connections_max_; }
  /// Serves a connected socket.
  void new_connection(int fd);
  /// Serves a port. `done` gets false if it cannot listen, and nothing else.
  void run(u_int port, evb_t done);
  void run(const str& port, evb_t done);

 private:
  int verbosity_ = 0;
  std::size_t connections_max_ = 4096;
  std::shared_ptr<std::size_t> open_ = std::make_shared<std::size_t>(0);
};

}  // namespace tame

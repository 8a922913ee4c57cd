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
  virtual ~server_t() = default;
  /// Answers a call, now or later. It never gets null.
  virtual void dispatch(svccb* call) = 0;
  [[nodiscard]] virtual const rpc_program& get_prog() const = 0;
  /// Begins to serve; the factory calls it.
  void runloop();

 private:
  ptr<axprt_stream> connection_;
  ptr<asrv> server_;
  int verbosity_;
};

class server_factory_t {
 public:
  server_factory_t() = default;
  server_factory_t(const server_factory_t&) = delete;
  server_factory_t& operator=(const server_factory_t&) = delete;
  virtual ~server_factory_t() = default;
  /// One of the two must be overridden. `verbosity` is the factory's.
  [[nodiscard]] virtual server_t* alloc_server(int fd);
  [[nodiscard]] virtual server_t* alloc_server(int fd, int verbosity);
  void set_verbosity(int v) noexcept { verbosity_ = v; }
  /// Serves a connected socket.
  void new_connection(int fd);
  /// Serves a port. `done` gets false if it cannot listen, and nothing else.
  void run(u_int port, evb_t done);
  /// The port as text.
  void run(const str& port, evb_t done);

 private:
  int verbosity_ = 0;
};

}  // namespace tame

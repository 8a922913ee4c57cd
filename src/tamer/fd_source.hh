// SPDX-License-Identifier: MIT
// Descriptors whose TCP is made by the runtime's tcp_source instead of the kernel (HEDDLE_NET). A
// socket that listens stays bound, so that it keeps its number and its port, and the source listens
// in its place. A connection is one end of a socket pair, so all calls by its number work.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <optional>

#include "heddle/core/deadline.hh"
#include "heddle/io/detail/runtime_tcp.hh"
#include "tamer/descriptor.hh"

namespace tamer::detail {

/// A connection that a task makes, or the reason why there is none.
struct made_by_source {
  /// The connection as an fd, with the peer's address if there is room for it.
  [[nodiscard]] fd take(sockaddr* address, socklen_t* len);
  /// Puts the connection in the place of a socket, under the socket's number; 0 or -errno.
  [[nodiscard]] int put_in_place_of(const descriptor& d) noexcept;

  int outcome = -ECANCELED;  ///< 0, or -errno
  heddle::detail::owned_number end;
  heddle::address peer;
};

/// 0 or -errno if the runtime has a source and the socket is one for TCP; else nothing.
[[nodiscard]] std::optional<int> listen_by_source(descriptor& d, int backlog);
/// Takes the next connection of d.door. If `done` becomes empty first, the task is cancelled.
void accept_by_source(const descriptor& d, std::shared_ptr<made_by_source> into, event<> done);
/// The address, if the runtime has a source and the socket is one for TCP.
[[nodiscard]] std::optional<heddle::address> reachable_by_source(const descriptor& d,
                                                                 const sockaddr_storage& to,
                                                                 socklen_t len);
void connect_by_source(const heddle::address& to, std::shared_ptr<made_by_source> into,
                       event<> done);

}  // namespace tamer::detail

// SPDX-License-Identifier: MIT
// Restarts without dropping a connection: the running server passes its listening socket to the
// next one over a Unix socket, and drains once the next one reports that it has begun. Whichever
// server comes first accepts a connection that waits in the socket, so every connection is
// answered.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"
#include "serve/door.hh"

namespace heddle::serve {

/// The side of the new server. Thread: one. Owns: the connection to the old server.
class takeover {
 public:
  /// Asks the server that listens at this path, if there is one. Waits a few seconds at most.
  explicit takeover(const std::string& path);
  takeover(const takeover&) = delete;
  takeover& operator=(const takeover&) = delete;
  ~takeover();

  /// The listening socket, if the old server passed one.
  [[nodiscard]] std::optional<tcp_listener> door();
  /// The old server's other listening sockets, which --listen and --redirect-http opened. done()
  /// closes each socket that is still in the list.
  [[nodiscard]] std::vector<int>& more_doors() noexcept { return given_; }
  /// Tells the old server that this one has begun, so that it ends. Fails: failure, if the old
  /// server has meanwhile handed over to another server.
  [[nodiscard]] task<> done();

 private:
  /// Asks the old server. False if a server was there and closed the connection without an answer.
  bool ask(const std::string& path);

  int talk_ = -1;
  std::vector<int> given_;  // the main socket first, until door() takes it
};

/// The Unix socket at which the next server asks; only the same user may connect.
class handover_door {
 public:
  /// `sockets`: how many there will be to pass. Fails: failure, if these are too many.
  handover_door(std::string path, std::size_t sockets);
  /// Listens at PATH.new, next to the final path; at PATH.new2 and so on while other servers begin.
  /// Fails: failure, if it cannot listen there, so that a server that cannot be replaced learns it
  /// before it takes over.
  [[nodiscard]] task<> open();
  handover_door(const handover_door&) = delete;
  handover_door& operator=(const handover_door&) = delete;
  /// Removes the socket unless it was published.
  ~handover_door();
  /// Renames the socket to the path, in place of the old server's. Call it once, after that server
  /// ended.
  [[nodiscard]] task<unix_listener> publish();

 private:
  std::string path_;
  std::string beside_;  // the path of its own socket until publish(), else empty
  unix_listener door_;
};

/// Waits until a next server has taken the listening sockets and has begun. A server that fails
/// before that, or stays silent, changes nothing and does not delay others. If several ask, the
/// first to begin is the next.
[[nodiscard]] task<> give_to_next(unix_listener at, tcp_listener door, std::vector<more_door> more);

}  // namespace heddle::serve

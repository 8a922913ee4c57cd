// SPDX-License-Identifier: MIT
// A restart without a dropped connection: the running server gives its listening socket to the next
// one over a Unix socket, and drains once the next one says that it has begun. Connections that
// wait in the socket are taken by whichever of the two comes first; none is closed unanswered.
#pragma once

#include <optional>
#include <string>

#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"

namespace heddle::cli {

/// What the next server does. Thread: one. Owns: the talk with the server before it.
class takeover {
 public:
  /// Asks whoever serves at this path; nobody there is fine. Waits a few seconds at most.
  explicit takeover(const std::string& path);
  takeover(const takeover&) = delete;
  takeover& operator=(const takeover&) = delete;
  ~takeover();

  /// The listening socket, if somebody gave one.
  [[nodiscard]] std::optional<tcp_listener> door();
  /// Serving has begun: the server before it may go.
  void done() noexcept;

 private:
  int talk_ = -1;
  int given_ = -1;
};

/// Where the next server asks. Replaces a socket that stands there; only this user may connect.
[[nodiscard]] unix_listener open_handover(const std::string& path);

/// Waits until a next server has taken `door` and has begun; one that fails before changes nothing.
[[nodiscard]] task<> give_to_next(unix_listener at, tcp_listener door);

}  // namespace heddle::cli

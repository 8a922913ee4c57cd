// SPDX-License-Identifier: MIT
// The interface to the part that makes a program's TCP listeners and connections. Rooms that may
// not include room net ask it; net::provider implements it by sockets or by TCP in the program.
//
//   runtime_options o;
//   o.tcp = [] { return net::source_of(net::user({.device = "tun0", .address = "10.9.0.2/24"})); };
//
// The listeners and connections of compiled Draft programs and of <tamer/...> then come from it.
#pragma once

#include <memory>

#include "heddle/core/task.hh"
#include "heddle/io/address.hh"
#include "heddle/io/listener.hh"

namespace heddle {

/// An open listener, and the address that it listens on.
struct opened_door {
  listener door;
  address at;
};

/// Thread: one color, which also destroys it; streams and listeners that it makes stay there, too.
/// Owns: the TCP stack of its connections, if it has one, together with its streams and listeners.
/// Cancel: waits can be cancelled, like those of any stream or listener.
/// Fails: as sockets do: failure, naming the address.
class tcp_source {
 public:
  tcp_source() noexcept = default;
  tcp_source(const tcp_source&) = delete;
  tcp_source& operator=(const tcp_source&) = delete;
  virtual ~tcp_source() = default;

  /// Port 0 takes a free port.
  [[nodiscard]] virtual opened_door listen(const address& on, const listen_options& options) = 0;
  [[nodiscard]] virtual task<stream> connect(address to) = 0;
  /// Waits until the peers have acknowledged what closed streams have written. It waits for open
  /// streams, too: bound it by with_timeout().
  [[nodiscard]] virtual task<> settled() = 0;
};

}  // namespace heddle

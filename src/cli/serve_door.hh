// SPDX-License-Identifier: MIT
// The listening socket of `heddle serve`, wherever it comes from: opened here, or given by the
// service manager (LISTEN_FDS, as systemd does it).
#pragma once

#include "cli/serve_options.hh"
#include "heddle/io/tcp.hh"

namespace heddle::cli {

/// Fails: failure, naming the port and the flag that helps. The next free port is taken only when
/// somebody is there to read which one it is, and did not ask for one.
[[nodiscard]] tcp_listener open_door(const serve_options& o, bool interactive);

/// The socket that the service manager holds for us; none when it does not. Takes the variables
/// away, so that no child takes them for its own. Fails: failure when it is no listening TCP
/// socket, or more than one.
[[nodiscard]] std::optional<tcp_listener> activated_door();

/// The same socket again, for another worker: whichever is free takes the next connection.
[[nodiscard]] tcp_listener another_door(const tcp_listener& door);

}  // namespace heddle::cli

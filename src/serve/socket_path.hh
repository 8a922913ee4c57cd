// SPDX-License-Identifier: MIT
// Listening on a path. `--listen unix:PATH` and `--handover PATH` share the one rule of which file
// may be removed: a socket file that no process listens on. Everything else stays.
#pragma once

#include <string>

#include "heddle/io/unix.hh"

namespace heddle::serve {

/// Removes an abandoned socket file from the path, so that a listener can have it. Fails: failure,
/// with the path and the kind of file that is there, if it stays.
[[nodiscard]] task<> clear_path(std::string path);
/// Listens on the path, after clear_path(). Fails: as that, and if the path is in use.
[[nodiscard]] task<unix_listener> listen_on_path(std::string path);

/// Says what listen_on_path() would say, and changes nothing. A path that is in use passes, because
/// the server that these settings are for may be running.
[[nodiscard]] task<> check_path(std::string path);

}  // namespace heddle::serve

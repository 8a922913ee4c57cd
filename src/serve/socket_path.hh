// SPDX-License-Identifier: MIT
// Listening on a path. `--listen unix:PATH` and `--handover PATH` share the one rule of which file
// may be removed: a socket file that no process listens on. Everything else stays.
#pragma once

#include <string>

#include "heddle/io/unix.hh"

namespace heddle::serve {

/// Listens on the path, after removing an abandoned socket file.
/// Fails: failure, with the path and the kind of file that has it, if the path is not free.
[[nodiscard]] unix_listener listen_on_path(const std::string& path);

/// Says what listen_on_path() would say, and changes nothing. A path that is in use passes, because
/// the server that these settings are for may be running.
void check_path(const std::string& path);

}  // namespace heddle::serve

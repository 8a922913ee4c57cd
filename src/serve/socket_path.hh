// SPDX-License-Identifier: MIT
// Listening on a path. `--listen unix:PATH` and `--handover PATH` share the one rule of which file
// may be removed: a socket file that no process listens on. Everything else stays.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/io/unix.hh"

namespace heddle::serve {

enum class path_state : std::uint8_t {
  vacant,     ///< there is nothing; or the name is abstract ('@...'), which is no file
  abandoned,  ///< a socket file that no process listens on, as a killed server leaves it
  in_use,     ///< a socket file that a process listens on, or perhaps does
  other,      ///< anything else: a file, a folder, a symbolic link
};

[[nodiscard]] path_state state_of_path(const std::string& path);

/// Listens on the path, after removing an abandoned socket file.
/// Fails: failure, with the path and the kind of file that has it, if the path is not free.
[[nodiscard]] unix_listener listen_on_path(const std::string& path);

/// Says what listen_on_path() would say, and changes nothing. A path that is in use passes, because
/// the server that these settings are for may be running.
void check_path(const std::string& path);

}  // namespace heddle::serve

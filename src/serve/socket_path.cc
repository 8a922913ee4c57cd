// SPDX-License-Identifier: MIT
// The state of a path is asked by lstat() and connect(): connect() alone says ECONNREFUSED for a
// plain file, too.
#include "serve/socket_path.hh"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "serve/writable_folder.hh"

namespace heddle::serve {
namespace {

bool is_abstract(const std::string& path) noexcept { return path.starts_with('@'); }

/// Whether a process may listen there: false only if the kernel says that none does.
bool may_be_listened_on(const std::string& path) noexcept {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.size() >= sizeof at.sun_path) return true;
  std::memcpy(at.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return true;
  const bool refused = ::connect(fd, reinterpret_cast<const ::sockaddr*>(&at), sizeof at) != 0 &&
                       errno == ECONNREFUSED;
  ::close(fd);
  return !refused;
}

enum class path_state : std::uint8_t {
  vacant,     // there is nothing; or the name is abstract ('@...'), which is no file
  abandoned,  // a socket file that no process listens on, as a killed server leaves it
  in_use,     // a socket file that a process listens on, or perhaps does
  other,      // anything else: a file, a folder, a symbolic link
};

[[noreturn]] void refuse_other(const std::string& path) {
  throw failure(std::make_error_code(std::errc::address_in_use),
                "cannot listen on " + path +
                    ": it is not a socket, and stays; name another path, or remove it yourself");
}

path_state state_of_path(const std::string& path) {
  struct ::stat there{};
  if (is_abstract(path) || ::lstat(path.c_str(), &there) != 0) return path_state::vacant;
  if (!S_ISSOCK(there.st_mode)) return path_state::other;
  return may_be_listened_on(path) ? path_state::in_use : path_state::abandoned;
}

}  // namespace

unix_listener listen_on_path(const std::string& path) {
  const path_state state = state_of_path(path);
  if (state == path_state::other) refuse_other(path);
  if (state == path_state::abandoned) ::unlink(path.c_str());
  return unix_listener::listen(path);
}

void check_path(const std::string& path) {
  // Nothing is made at the path: a server that starts at this moment must not find it taken.
  if (path.size() >= sizeof sockaddr_un{}.sun_path)
    throw failure(std::make_error_code(std::errc::filename_too_long),
                  "a socket's path has at most 107 bytes: " + path);
  if (is_abstract(path)) return;
  if (state_of_path(path) == path_state::other) refuse_other(path);
  if (const int error = folder_trouble(folder_of(path)); error != 0)
    throw failure({error, std::generic_category()}, "cannot listen on " + path);
}

}  // namespace heddle::serve

// SPDX-License-Identifier: MIT
// The state of a path is asked by lstat() and connect(): connect() alone says ECONNREFUSED for a
// plain file, too.
#include "serve/socket_path.hh"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace heddle::serve {
namespace {

bool is_abstract(const std::string& path) noexcept { return path.starts_with('@'); }

/// False only if the kernel says that no process listens there.
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

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

[[noreturn]] void refuse_other(const std::string& path) {
  throw failure(std::make_error_code(std::errc::address_in_use),
                "cannot listen on " + path +
                    ": it is not a socket, and stays; name another path, or remove it yourself");
}

}  // namespace

path_state state_of_path(const std::string& path) {
  struct ::stat there{};
  if (is_abstract(path) || ::lstat(path.c_str(), &there) != 0) return path_state::vacant;
  if (!S_ISSOCK(there.st_mode)) return path_state::other;
  return may_be_listened_on(path) ? path_state::in_use : path_state::abandoned;
}

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
  if (::faccessat(AT_FDCWD, folder_of(path).c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    throw failure({errno, std::generic_category()}, "cannot listen on " + path);
}

}  // namespace heddle::serve

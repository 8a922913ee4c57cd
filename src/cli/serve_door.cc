// SPDX-License-Identifier: MIT
// Opening, or taking over, the listening socket.
#include "cli/serve_door.hh"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace heddle::cli {
namespace {

constexpr int default_port = 8000;
constexpr int ports_tried = 20;    // when the port was not asked for
constexpr int first_given_fd = 3;  // sd_listen_fds(3): after the standard three

address address_for(const serve_options& o, std::uint16_t port) {
  if (!o.bind.empty()) {
    const auto at = address::parse(o.bind, port);
    if (!at)
      throw failure(at.error(), "'" + o.bind + "' is no address; write 192.0.2.7 or ::1, say");
    return *at;
  }
  return o.everywhere ? address::any(port) : address::loopback(port);
}

/// A kernel without version 6, or one that was told to have none.
bool no_v6(const std::error_code& error) noexcept {
  return error == std::errc::address_family_not_supported ||
         error == std::errc::address_not_available;
}

tcp_listener listen_at(const serve_options& o, std::uint16_t port) {
  const address at = address_for(o, port);
  try {
    return tcp_listener::listen(at);
  } catch (const failure& e) {
    if (at == address::any(port) && o.bind.empty() && no_v6(e.code()))
      return tcp_listener::listen(address::any_v4(port));
    throw;
  }
}

}  // namespace

tcp_listener open_door(const serve_options& o, bool interactive) {
  const bool asked = o.port >= 0;
  const int first = asked ? o.port : default_port;
  const int last = asked || !interactive ? first : first + ports_tried - 1;
  for (int port = first;; ++port) {
    try {
      return listen_at(o, static_cast<std::uint16_t>(port));
    } catch (const failure& e) {
      if (e.code() == std::errc::address_in_use) {
        if (port < last) continue;
        throw failure(e.code(), "port " + std::to_string(port) +
                                    " is taken; -p PORT takes another, -p 0 any that is free");
      }
      if (e.code() == std::errc::permission_denied)
        throw failure(e.code(), "port " + std::to_string(port) +
                                    " is for root only; -p PORT takes one from 1024 upward");
      if (e.code() == std::errc::address_not_available)
        throw failure(e.code(), "this machine has no address " + o.bind +
                                    "; `ip address` lists them, --public takes all");
      throw;
    }
  }
}

tcp_listener another_door(const tcp_listener& door) {
  const int fd = ::fcntl(door.number(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) throw failure({errno, std::generic_category()}, "cannot share the listening socket");
  return tcp_listener::adopt(fd);
}

std::optional<tcp_listener> activated_door() {
  const char* count = std::getenv("LISTEN_FDS");
  const char* whose = std::getenv("LISTEN_PID");
  const bool ours = count != nullptr && whose != nullptr &&
                    std::strtol(whose, nullptr, 10) == static_cast<long>(::getpid());
  const long given = ours ? std::strtol(count, nullptr, 10) : 0;
  ::unsetenv("LISTEN_FDS");
  ::unsetenv("LISTEN_PID");
  ::unsetenv("LISTEN_FDNAMES");
  if (given <= 0) return std::nullopt;
  if (given != 1)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "the service manager gives " + std::to_string(given) +
                      " sockets, and one is served; leave one ListenStream= in the socket unit");
  return tcp_listener::adopt(first_given_fd);
}

}  // namespace heddle::cli

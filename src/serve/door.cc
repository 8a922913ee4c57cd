// SPDX-License-Identifier: MIT
// Opens the listening socket, or takes it over.
#include "serve/door.hh"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "heddle/core/sleep.hh"
#include "heddle/io/unix.hh"
#include "heddle/sched/runtime.hh"
#include "serve/socket_path.hh"
#include "serve/values.hh"

namespace heddle::serve {
namespace {

constexpr int ports_tried = 20;  // unless the user chose the port
constexpr nanoseconds port_patience = std::chrono::seconds(1);
constexpr nanoseconds close_door_timeout = std::chrono::seconds(1);
constexpr int first_given_fd = 3;  // sd_listen_fds(3): the first after stdin, stdout and stderr

address address_for(const serve_options& o, std::uint16_t port) {
  if (!o.bind.empty()) {
    const auto at = address::parse(o.bind, port);
    if (!at)
      throw failure(at.error(), "'" + o.bind + "' is no address; write 192.0.2.7 or ::1, say");
    return *at;
  }
  return o.everywhere ? address::any(port) : address::loopback(port);
}

/// Whether this is the error of a kernel without IPv6, or with IPv6 disabled.
bool no_v6(const std::error_code& error) noexcept {
  return error == std::errc::address_family_not_supported ||
         error == std::errc::address_not_available;
}

task<tcp_listener> listen_at(const serve_options& o, std::uint16_t port, nanoseconds patience) {
  const address at = address_for(o, port);
  try {
    co_return co_await tcp_listener::listen_within(patience, at);
  } catch (const failure& e) {
    if (at != address::any(port) || !o.bind.empty() || !no_v6(e.code())) throw;
  }
  co_return co_await tcp_listener::listen_within(patience, address::any_v4(port));
}

int duplicate(int number) {
  const int fd = ::fcntl(number, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) throw failure({errno, std::generic_category()}, "cannot share the listening socket");
  return fd;
}

/// Where a socket listens, as --listen writes it: "unix:PATH" or an address with its port.
std::string place_of(int fd) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (::getsockname(fd, reinterpret_cast<::sockaddr*>(&at), &size) != 0) return {};
  if (at.ss_family != AF_UNIX) return tcp_listener::adopt(duplicate(fd)).local().to_string();
  const auto& local = reinterpret_cast<const sockaddr_un&>(at);
  const std::size_t room =
      size > offsetof(sockaddr_un, sun_path) ? size - offsetof(sockaddr_un, sun_path) : 0;
  return "unix:" + std::string(local.sun_path, ::strnlen(local.sun_path, room));
}

/// Takes the socket that listens at this place off the list; -1 if there is none.
int take_given(std::vector<int>& given, const std::string& place) {
  const std::string wanted =
      place.starts_with("unix:") ? place : address::parse(place, 0).value().to_string();
  const auto at = std::ranges::find_if(given, [&](int fd) { return place_of(fd) == wanted; });
  if (at == given.end()) return -1;
  const int fd = *at;
  given.erase(at);
  return fd;
}

}  // namespace

void check_door(const serve_options& o, const address& given) {
  const std::uint16_t port = o.port > 0 ? static_cast<std::uint16_t>(o.port) : given.port();
  const address asked = address_for(o, port);
  if (given == asked || (asked == address::any(port) && given == address::any_v4(port))) return;
  throw failure(std::make_error_code(std::errc::invalid_argument),
                "the server at " + o.handover + " listens on " + given.to_string() +
                    ", and these settings ask for " + asked.to_string() +
                    "; give it the same port and address, or stop that server first");
}

namespace {

/// The error of a port with the flag that helps.
failure explained(const serve_options& o, int port, const std::string& flag, const failure& e) {
  if (e.code() == std::errc::address_in_use)
    return {e.code(), "port " + std::to_string(port) + " is in use; " + flag +
                          " PORT takes another, " + flag + " 0 any that is free"};
  if (e.code() == std::errc::permission_denied)
    return {e.code(), "port " + std::to_string(port) + " is for root only; " + flag +
                          " PORT takes one from 1024 upward"};
  if (e.code() == std::errc::address_not_available)
    return {e.code(), "this machine has no address " + o.bind + "; `ip address` lists them, " +
                          (o.is_proxy ? "--listen :PORT" : "--public") + " takes all"};
  return e;
}

}  // namespace

task<tcp_listener> open_door(const serve_options& o, bool interactive, std::string flag) {
  const bool asked = o.port >= 0;
  const int first = asked ? o.port : default_port;
  const int last = asked || !interactive ? first : first + ports_tried - 1;
  for (int port = first;; ++port) {
    try {
      co_return co_await listen_at(o, static_cast<std::uint16_t>(port),
                                   port == last ? port_patience : nanoseconds::zero());
    } catch (const failure& e) {
      if (e.code() == std::errc::address_in_use && port < last) continue;
      throw explained(o, port, flag, e);
    }
  }
}

std::uint16_t port_asked(const serve_options& o) {
  return static_cast<std::uint16_t>(o.port >= 0 ? o.port : default_port);
}

namespace {

/// Whether the kernel refuses to listen at the second while this program listens at the first.
bool overlap(const address& a, const address& b) {
  if (a.port() != b.port() || a.port() == 0) return false;
  const auto covers = [](const address& all, const address& one) {
    return all == address::any(all.port()) || (all == address::any_v4(all.port()) && one.is_v4());
  };
  return a == b || covers(a, b) || covers(b, a);
}

/// A place that settings name, with the setting.
struct named_place {
  address at;
  std::string setting;
};

/// All places with a port, in the order in which they are opened.
std::vector<named_place> places_of(const serve_options& o) {
  // A socket of the service manager takes the place of the default port.
  std::vector<named_place> all;
  if (o.port >= 0) all.push_back({address_for(o, port_asked(o)), o.is_proxy ? "listen" : "port"});
  for (const std::string& place : o.listen)
    if (!place.starts_with("unix:"))
      all.push_back({address::parse(place, 0).value(), "listen " + place});
  if (o.redirect_http > 0)
    all.push_back({address_for(o, static_cast<std::uint16_t>(o.redirect_http)), "redirect-http"});
  return all;
}

/// Binds as a listener would and gives the socket back at once: no client ever connects to it.
void try_to_bind(const address& at) {
  driver& io = runtime::here().io();
  const int fd = io.socket(at.family(), SOCK_STREAM, 0);
  if (fd < 0) throw failure({-fd, std::generic_category()}, "cannot make a socket");
  const int yes = 1, no = 0;
  static_cast<void>(io.set_option(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
  if (at.is_v6()) static_cast<void>(io.set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no));
  const int error = io.bind(fd, at.native(), at.native_len());
  io.close(fd, worker::running());
  if (error != 0 && error != -EADDRINUSE)
    throw failure({-error, std::generic_category()}, "cannot listen on " + at.to_string());
}

void try_port(const serve_options& o, std::uint16_t port, const std::string& flag) {
  const address at = address_for(o, port);
  try {
    try_to_bind(at);
  } catch (const failure& e) {
    if (at == address::any(port) && o.bind.empty() && no_v6(e.code()))
      return try_to_bind(address::any_v4(port));
    throw explained(o, port, flag, e);
  }
}

}  // namespace

void check_places(const serve_options& o) {
  if (o.user) return;
  const std::vector<named_place> all = places_of(o);
  for (std::size_t i = 1; i < all.size(); ++i)
    for (std::size_t k = 0; k != i; ++k)
      if (overlap(all[k].at, all[i].at))
        throw bad_setting(all[i].setting + ": this server listens on " + all[k].at.to_string() +
                          " already, because of " + all[k].setting + "; leave one of them out");
  for (auto at = o.listen.begin(); at != o.listen.end(); ++at)
    if (at->starts_with("unix:") && std::find(o.listen.begin(), at, *at) != at)
      throw bad_setting("listen " + *at + " is given twice; leave one of them out");
}

task<> try_doors(const serve_options& o, bool main_given, std::vector<int>& given) {
  if (!main_given) try_port(o, port_asked(o), o.is_proxy ? "--listen" : "-p");
  for (const std::string& place : o.listen) {
    if (const int fd = take_given(given, place); fd >= 0) {
      ::close(fd);
    } else if (place.starts_with("unix:")) {
      co_await check_path(place.substr(5));
    } else {
      try_to_bind(address::parse(place, 0).value());
    }
  }
  if (o.redirect_http < 0) co_return;
  serve_options there = o;
  there.port = o.redirect_http;
  if (!given_door(there, given)) try_port(there, port_asked(there), "--redirect-http");
}

tcp_listener another_door(const tcp_listener& door) {
  return tcp_listener::adopt(duplicate(door.number()));
}

task<std::vector<more_door>> open_more_doors(const serve_options& o, std::vector<int>& given) {
  std::vector<more_door> doors;
  for (const std::string& place : o.listen) {
    const bool local = place.starts_with("unix:");
    if (const int fd = take_given(given, place); fd >= 0) {
      if (local) {
        doors.push_back({unix_listener::adopt(fd), true});
      } else {
        doors.push_back({tcp_listener::adopt(fd), false});
      }
    } else if (local) {
      unix_listener there = co_await listen_on_path(place.substr(5));
      doors.push_back({std::move(there), true});
    } else {
      doors.push_back({tcp_listener::listen(address::parse(place, 0).value()), false});
    }
  }
  co_return doors;
}

std::optional<tcp_listener> given_door(const serve_options& o, std::vector<int>& given) {
  const auto port = static_cast<std::uint16_t>(o.port);
  std::vector<address> places{address_for(o, port)};
  if (places.front() == address::any(port)) places.push_back(address::any_v4(port));
  for (const address& at : places) {
    if (const int fd = take_given(given, at.to_string()); fd >= 0) return tcp_listener::adopt(fd);
  }
  return std::nullopt;
}

task<> close_doors(const listener& door, const std::vector<more_door>& more, nanoseconds grace) {
  door.finish();
  for (const more_door& d : more) d.at.finish();
  const time_point limit = clock::now() + close_door_timeout;
  while (door.is_open() && clock::now() < limit) co_await sleep_for(std::chrono::milliseconds(1));
  if (grace > nanoseconds::zero()) co_await sleep_for(grace);
}

std::vector<more_door> more_doors_again(const std::vector<more_door>& doors) {
  std::vector<more_door> again;
  for (const more_door& d : doors) {
    const int fd = duplicate(d.at.number());
    if (d.local) {
      again.push_back({unix_listener::adopt(fd), true});
    } else {
      again.push_back({tcp_listener::adopt(fd), false});
    }
  }
  return again;
}

std::optional<tcp_listener> activated_door(const serve_options& o) {
  const long given = o.around->sockets();
  if (given <= 0) return std::nullopt;
  if (o.user)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "the service manager gives a socket, and --net user has none; leave out --net, "
                  "or start the server without a socket unit");
  if (given != 1)
    throw failure(
        std::make_error_code(std::errc::invalid_argument),
        "the service manager gives " + std::to_string(given) +
            " sockets, but only one can be served; leave one ListenStream= in the socket unit");
  return tcp_listener::adopt(first_given_fd);
}

}  // namespace heddle::serve

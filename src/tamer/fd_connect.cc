// SPDX-License-Identifier: MIT
// Connections: accept and connect as events, and sockets of the Internet and of this machine.
#include <netinet/in.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

#include "tamer/descriptor.hh"
#include "tamer/fd_source.hh"

namespace tamer {

namespace detail {
namespace {

void accept_one(fd f, sockaddr* address, socklen_t* len, event<fd> done) {
  descriptor* const d = descriptor::of(f);
  if (!f) {
    done.trigger(fd(d == nullptr ? -EBADF : d->number));
    co_return;
  }
  event<> wanted = done.unblocker();
  if (!wanted) co_return;
  heddle::rendezvous<int> r;
  int which = its_turn;
  bool listens = false;
  turn mine(d->reading);
  if (!mine.take()) {
    wanted.at_trigger(r.make_event(end_of_event));
    listens = true;
    mine.wait(r.make_event(its_turn));
    co_await ::heddle::tame::next(r, which);
    if (which == its_turn || r.has_ready()) mine.got();  // the turn may have come, too
    if (which == end_of_event) co_return;
  }
  while (true) {
    if (!f) {
      done.trigger(fd(-ECANCELED));
      co_return;
    }
    if (d->door) {
      if (!listens) wanted.at_trigger(r.make_event(end_of_event));
      auto got = std::make_shared<made_by_source>();
      accept_by_source(*d, got, r.make_event(readiness));
      co_await ::heddle::tame::next(r, which);
      if (which == end_of_event) co_return;
      done.trigger(got->outcome < 0 ? fd(got->outcome) : got->take(address, len));
      co_return;
    }
    if (!d->blocks() || which == readiness) {
      const int n = ::accept4(d->number, address, len, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (n >= 0) {
        done.trigger(fd(n));
        co_return;
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        const int failed = errno;
        // Programs accept again at once. If descriptors or memory are short, wait 10 ms, so that
        // other functions can free some.
        if (failed == EMFILE || failed == ENFILE || failed == ENOBUFS || failed == ENOMEM) {
          if (!listens) wanted.at_trigger(r.make_event(end_of_event));
          at_delay_msec(10, r.make_event(its_turn));
          co_await ::heddle::tame::next(r, which);
          if (which == end_of_event) co_return;
        }
        done.trigger(fd(-failed));
        co_return;
      }
    }
    if (!listens) {
      wanted.at_trigger(r.make_event(end_of_event));
      listens = true;
    }
    int outcome = 0;
    at_fd_read(d->number, r.make_event(readiness, outcome));
    co_await ::heddle::tame::next(r, which);
    if (which == end_of_event) co_return;
    if (outcome == -ECANCELED) {
      done.trigger(fd(-ECANCELED));
      co_return;
    }
  }
}

void connect_one(fd f, sockaddr_storage address, socklen_t len, event<int> done) {
  descriptor* const d = descriptor::of(f);
  if (!f) {
    done.trigger(d == nullptr ? -EBADF : d->number);
    co_return;
  }
  if (const auto to = reachable_by_source(*d, address, len)) {
    heddle::rendezvous<int> r;
    int which = 0;
    done.unblocker().at_trigger(r.make_event(end_of_event));
    auto got = std::make_shared<made_by_source>();
    connect_by_source(*to, got, r.make_event(readiness));
    co_await ::heddle::tame::next(r, which);
    if (which == end_of_event) co_return;
    done.trigger(!f ? -ECANCELED : got->outcome < 0 ? got->outcome : got->put_in_place_of(*d));
    co_return;
  }
  if (::connect(d->number, reinterpret_cast<const sockaddr*>(&address), len) == 0) {
    done.trigger(0);
    co_return;
  }
  if (errno != EINPROGRESS && errno != EINTR) {
    done.trigger(-errno);
    co_return;
  }
  heddle::rendezvous<int> r;
  int which = 0, outcome = 0;
  done.unblocker().at_trigger(r.make_event(end_of_event));
  at_fd_write(d->number, r.make_event(readiness, outcome));
  co_await ::heddle::tame::next(r, which);
  if (which == end_of_event) co_return;
  int error = 0;
  socklen_t error_len = sizeof error;
  if (outcome == -ECANCELED || !f) {
    error = ECANCELED;
  } else if (::getsockopt(d->number, SOL_SOCKET, SO_ERROR, &error, &error_len) != 0) {
    error = errno;
  }
  done.trigger(-error);
  co_return;
}

void connect_then(fd f, sockaddr_storage address, socklen_t len, event<fd> done) {
  int result = 0;
  event<> wanted = done.unblocker();
  heddle::rendezvous<int> r;
  int which = 0;
  wanted.at_trigger(r.make_event(end_of_event));
  connect_one(f, address, len, r.make_event(readiness, result));
  co_await ::heddle::tame::next(r, which);
  if (which == end_of_event) co_return;
  done.trigger(result == 0 ? f : fd(result));
  co_return;
}

sockaddr_storage ip_address(in_addr address, int port) noexcept {
  sockaddr_storage out{};
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr = address;
  in.sin_port = htons(static_cast<std::uint16_t>(port));
  std::memcpy(&out, &in, sizeof in);
  return out;
}

}  // namespace
}  // namespace detail

void fd::accept(event<fd> done) { detail::accept_one(*this, nullptr, nullptr, std::move(done)); }
void fd::accept(sockaddr* address, socklen_t* len, event<fd> done) {
  detail::accept_one(*this, address, len, std::move(done));
}
void fd::connect(const sockaddr* address, socklen_t len, int_event done) {
  sockaddr_storage kept{};
  if (len > sizeof kept) return done.trigger(-EINVAL);
  std::memcpy(&kept, address, len);
  detail::connect_one(*this, kept, len, std::move(done));
}
fd tcp_listen(int port, int backlog) {
  fd f = fd::socket(AF_INET, SOCK_STREAM, 0);
  if (!f) return f;
  const int on = 1;
  ::setsockopt(f.value(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const sockaddr_storage here = detail::ip_address(in_addr{INADDR_ANY}, port);
  int result = f.bind(reinterpret_cast<const sockaddr*>(&here), sizeof(sockaddr_in));
  if (result == 0) result = f.listen(backlog);
  return result == 0 ? f : fd(result);
}
void tcp_listen(int port, event<fd> done) { done.trigger(tcp_listen(port)); }
void tcp_listen(int port, int backlog, event<fd> done) { done.trigger(tcp_listen(port, backlog)); }

void tcp_connect(in_addr address, int port, event<fd> done) {
  detail::connect_then(fd::socket(AF_INET, SOCK_STREAM, 0), detail::ip_address(address, port),
                       sizeof(sockaddr_in), std::move(done));
}
void udp_connect(in_addr address, int port, event<fd> done) {
  detail::connect_then(fd::socket(AF_INET, SOCK_DGRAM, 0), detail::ip_address(address, port),
                       sizeof(sockaddr_in), std::move(done));
}

namespace {

/// Makes the address of a Unix socket. False when the path is too long for the system.
bool unix_address(const std::string& path, sockaddr_storage& out, socklen_t& len) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  std::memcpy(&out, &address, sizeof address);
  len = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return true;
}

}  // namespace

fd unix_stream_listen(std::string path, int backlog) {
  sockaddr_storage address{};
  socklen_t len = 0;
  if (!unix_address(path, address, len)) return fd(-ENAMETOOLONG);
  fd f = fd::socket(AF_UNIX, SOCK_STREAM, 0);
  if (!f) return f;
  int result = f.bind(reinterpret_cast<const sockaddr*>(&address), len);
  if (result == 0) result = f.listen(backlog);
  return result == 0 ? f : fd(result);
}
void unix_stream_connect(std::string path, event<fd> done) {
  sockaddr_storage address{};
  socklen_t len = 0;
  if (!unix_address(path, address, len)) return done.trigger(fd(-ENAMETOOLONG));
  detail::connect_then(fd::socket(AF_UNIX, SOCK_STREAM, 0), address, len, std::move(done));
}

}  // namespace tamer

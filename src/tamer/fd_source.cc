// SPDX-License-Identifier: MIT
// Listening, accepting and connecting by the runtime's tcp_source.
#include "tamer/fd_source.hh"

#include <algorithm>
#include <cstring>

#include "heddle/core/expected.hh"
#include "heddle/core/start.hh"

namespace tamer::detail {
namespace {

using heddle::detail::runtime_tcp;

[[nodiscard]] int negative(const std::error_code& e) noexcept {
  return e.value() > 0 ? -e.value() : -EIO;
}

/// Programs make their own calls by the number, as on a socket of the kernel's TCP that was
/// accepted for them: none of these calls may wait. The pair is made by the driver, and may be
/// blocking.
[[nodiscard]] int nonblocking(const heddle::detail::owned_number& end) noexcept {
  return fd::make_nonblocking(end.get());
}

/// The runtime's source, if there is one and the socket is one for TCP; else null.
[[nodiscard]] runtime_tcp* source_for(int number) noexcept {
  runtime_tcp* const net = runtime_tcp::here();
  if (net == nullptr) return nullptr;
  int domain = 0, type = 0;
  socklen_t len = sizeof domain;
  if (::getsockopt(number, SOL_SOCKET, SO_DOMAIN, &domain, &len) != 0) return nullptr;
  len = sizeof type;
  if (::getsockopt(number, SOL_SOCKET, SO_TYPE, &type, &len) != 0) return nullptr;
  return (domain == AF_INET || domain == AF_INET6) && type == SOCK_STREAM ? net : nullptr;
}

/// The address that a socket is bound to. One that is not bound takes a free port first.
[[nodiscard]] heddle::result<heddle::address> bound_to(int number) noexcept {
  for (bool again : {true, false}) {
    sockaddr_storage own{};
    socklen_t len = sizeof own;
    auto* const raw = reinterpret_cast<sockaddr*>(&own);
    if (::getsockname(number, raw, &len) != 0) break;
    const auto at = heddle::address::from(raw, len);
    if (!at) return std::unexpected(std::make_error_code(std::errc::invalid_argument));
    if (at->port() != 0) return *at;
    if (!again || ::bind(number, raw, len) != 0) break;
  }
  return std::unexpected(heddle::kernel_error(-errno));
}

heddle::task<> accept_next(heddle::listener door, std::shared_ptr<made_by_source> into) {
  auto got = co_await heddle::as_expected(door.accept());
  if (!got) {
    into->outcome = negative(got.error());
    co_return;
  }
  into->peer = got->peer();
  try {
    into->end = heddle::detail::bridge(std::move(*got));
    into->outcome = nonblocking(into->end);
  } catch (const std::system_error& e) {
    into->outcome = negative(e.code());
  }
}

heddle::task<> connect_to(const runtime_tcp* net, heddle::address to,
                          std::shared_ptr<made_by_source> into) {
  auto got = co_await heddle::as_expected(net->connect(to));
  into->outcome = got ? 0 : negative(got.error());
  if (!got) co_return;
  into->end = std::move(*got);
  into->outcome = nonblocking(into->end);
}

}  // namespace

fd made_by_source::take(sockaddr* address, socklen_t* len) {
  if (address != nullptr && len != nullptr) {
    std::memcpy(address, peer.native(), std::min<std::size_t>(*len, peer.native_len()));
    *len = peer.native_len();
  }
  return fd(end.release());
}

int made_by_source::put_in_place_of(const descriptor& d) noexcept {
  return ::dup3(end.get(), d.number, O_CLOEXEC) < 0 ? -errno : 0;
}

std::optional<int> listen_by_source(descriptor& d, int backlog) {
  const runtime_tcp* const net = source_for(d.number);
  if (net == nullptr) return std::nullopt;
  const auto at = bound_to(d.number);
  if (!at) return negative(at.error());
  heddle::listen_options options;
  options.backlog = backlog;
  try {
    d.door = std::make_unique<heddle::listener>(net->listen(*at, options).door);
    return 0;
  } catch (const std::system_error& e) {
    return negative(e.code());
  }
}

void accept_by_source(const descriptor& d, std::shared_ptr<made_by_source> into, event<> done) {
  heddle::start(accept_next(*d.door, std::move(into)), std::move(done));
}

std::optional<heddle::address> reachable_by_source(const descriptor& d, const sockaddr_storage& to,
                                                   socklen_t len) {
  if (source_for(d.number) == nullptr) return std::nullopt;
  const auto at = heddle::address::from(reinterpret_cast<const sockaddr*>(&to), len);
  if (!at) return std::nullopt;
  return *at;
}

void connect_by_source(const heddle::address& to, std::shared_ptr<made_by_source> into,
                       event<> done) {
  heddle::start(connect_to(runtime_tcp::here(), to, std::move(into)), std::move(done));
}

}  // namespace tamer::detail

// SPDX-License-Identifier: MIT
// TCP handles; connecting by address and by name.
#include "heddle/io/tcp.hh"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <string_view>

#include "heddle/core/expected.hh"
#include "heddle/io/resolve.hh"
#include "io/listener_state.hh"
#include "io/one_operation.hh"

namespace heddle {
namespace {

address name_of(int fd, int (driver::*ask)(int, ::sockaddr*, unsigned*) noexcept) noexcept {
  sockaddr_storage native{};
  unsigned len = sizeof native;
  auto* out = reinterpret_cast<::sockaddr*>(&native);
  if (fd < 0 || (driver_here().*ask)(fd, out, &len) < 0) return {};
  return address::from(out, len).value_or(address()).unmapped();
}

void set(int fd, int option, bool on) noexcept {
  const int value = on ? 1 : 0;
  static_cast<void>(driver_here().set_option(fd, IPPROTO_TCP, option, &value, sizeof value));
}

}  // namespace

tcp_stream::tcp_stream(int fd, stream_options options)
    : stream(detail::descriptor_state::make<detail::socket_state>(fd, options)) {}

address tcp_stream::local() const noexcept { return name_of(number(), &driver::local_name); }
address tcp_stream::peer() const noexcept { return name_of(number(), &driver::peer_name); }

void tcp_stream::set_no_delay(bool on) const noexcept {
  if (is_open()) set(number(), TCP_NODELAY, on);
}
void tcp_stream::cork() const noexcept {
  if (is_open()) set(number(), TCP_CORK, true);
}
void tcp_stream::set_reset_on_close() const noexcept {
  constexpr ::linger at_once{.l_onoff = 1, .l_linger = 0};
  if (is_open())
    static_cast<void>(
        driver_here().set_option(number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
}

tcp_listener tcp_listener::listen(const address& on, listen_options options) {
  return tcp_listener(detail::listen_at(on.native(), on.native_len(), on.to_string(), options));
}

tcp_listener tcp_listener::adopt(int fd, listen_options options) {
  const std::string name = "descriptor " + std::to_string(fd);
  if (driver_here().name() == std::string_view("sim"))
    throw failure(std::make_error_code(std::errc::operation_not_supported),
                  "a simulated program has no " + name + " of the system's");
  int listens = 0;
  socklen_t len = sizeof listens;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0)
    throw failure({errno, std::generic_category()}, "cannot take " + name);
  if (listens == 0 || !name_of(fd, &driver::local_name))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  name + " is no listening TCP socket");
  // Whoever opened it may have wanted to wait in accept(), and to keep it in its children.
  if (const int flags = ::fcntl(fd, F_GETFL); flags < 0 ||
                                              ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
                                              ::fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
    throw failure({errno, std::generic_category()}, "cannot take " + name);
  return tcp_listener(detail::descriptor_state::make<detail::listener_state>(fd, options));
}

address tcp_listener::local() const noexcept { return name_of(number(), &driver::local_name); }

task<tcp_stream> tcp_connect(address to, stream_options options) {
  const int fd = driver_here().socket(to.family(), SOCK_STREAM, 0);
  if (fd < 0) throw failure(kernel_error(fd), "cannot make a socket for " + to.to_string());
  tcp_stream conn(fd, options);
  conn.set_no_delay(true);
  detail::one_operation connecting(op_code::connect, fd, "connect");
  connecting.data = const_cast<::sockaddr*>(to.native());
  connecting.len = to.native_len();
  const std::int64_t outcome = co_await connecting;
  if (outcome < 0)
    throw failure(kernel_error(static_cast<int>(outcome)), "cannot connect to " + to.to_string());
  co_return conn;
}

task<tcp_stream> tcp_connect(std::string host, std::uint16_t port, stream_options options) {
  const std::vector<address> found = co_await resolve(host, std::to_string(port));
  std::error_code first;
  for (const address& to : found) {
    result<tcp_stream> conn = co_await as_expected(tcp_connect(to, options));
    if (conn) co_return std::move(*conn);
    if (conn.error() == std::errc::operation_canceled) throw failure(conn.error());
    if (!first) first = conn.error();
  }
  throw failure(first, "cannot connect to " + host + ":" + std::to_string(port));
}

}  // namespace heddle

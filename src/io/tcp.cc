// SPDX-License-Identifier: MIT
// TCP handles; connecting by address and by name.
#include "heddle/io/tcp.hh"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <string_view>

#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/call.hh"
#include "heddle/io/resolve.hh"
#include "io/listener_state.hh"
#include "io/socket_name.hh"
#include "io/socket_state.hh"

namespace heddle {
namespace {

constexpr nanoseconds listen_pause = std::chrono::milliseconds(10);  // between two tries

void set(int fd, int option, bool on) noexcept {
  const int value = on ? 1 : 0;
  static_cast<void>(driver_here().set_option(fd, IPPROTO_TCP, option, &value, sizeof value));
}

}  // namespace

tcp_stream::tcp_stream(int fd, stream_options options)
    : stream(detail::descriptor_state::make<detail::socket_state>(fd, options)) {}

address tcp_stream::local() const noexcept {
  return detail::socket_name(number(), &driver::local_name);
}

void tcp_stream::set_no_delay(bool on) const noexcept {
  if (is_open()) set(number(), TCP_NODELAY, on);
}

tcp_listener tcp_listener::listen(const address& on, listen_options options) {
  return tcp_listener(detail::listen_at(on.native(), on.native_len(), on.to_string(), options));
}

task<tcp_listener> tcp_listener::listen_within(nanoseconds patience, address on,
                                               listen_options options) {
  const time_point limit = add_saturated(clock::now(), patience);
  for (;;) {
    try {
      co_return listen(on, options);
    } catch (const failure& e) {
      if (e.code() != std::errc::address_in_use || worker::running().now >= limit) throw;
    }
    co_await sleep_for(listen_pause);
  }
}

tcp_listener tcp_listener::adopt(int fd, listen_options options) {
  return tcp_listener(detail::adopt_listening(fd, false, options));
}

address tcp_listener::local() const noexcept {
  return detail::socket_name(number(), &driver::local_name);
}

task<tcp_stream> tcp_connect(address to, stream_options options) {
  const int fd = driver_here().socket(to.family(), SOCK_STREAM, 0);
  if (fd < 0) throw failure(kernel_error(fd), "cannot make a socket for " + to.to_string());
  tcp_stream conn(fd, options);
  conn.set_no_delay(true);
  one_operation connecting(op_code::connect, fd, "connect");
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

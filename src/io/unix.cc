// SPDX-License-Identifier: MIT
// Unix sockets: a path in the system's form, and the calls.
#include "heddle/io/unix.hh"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "heddle/core/sleep.hh"
#include "heddle/io/call.hh"
#include "io/listener_state.hh"
#include "io/socket_state.hh"

namespace heddle {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds connect_pause_max(64);

struct native_path {
  explicit native_path(const std::string& path) {
    native.sun_family = AF_UNIX;
    if (path.size() >= sizeof native.sun_path)
      throw failure(std::make_error_code(std::errc::filename_too_long),
                    "a socket's path has at most 107 bytes: " + path);
    if (path.empty() || path.find('\0') != std::string::npos)
      throw failure(std::make_error_code(std::errc::invalid_argument),
                    "a socket's path is neither empty nor has a zero byte");
    std::memcpy(native.sun_path, path.data(), path.size());
    const bool named = path[0] != '@';
    if (!named) native.sun_path[0] = '\0';
    // A path ends in a zero byte; the end of an abstract name is known only by the length.
    len = static_cast<unsigned>(offsetof(sockaddr_un, sun_path) + path.size() + (named ? 1 : 0));
  }
  [[nodiscard]] const ::sockaddr* get() const noexcept {
    return reinterpret_cast<const ::sockaddr*>(&native);
  }
  sockaddr_un native{};
  unsigned len;
};

}  // namespace

unix_stream::unix_stream(int fd, stream_options options)
    : stream(detail::descriptor_state::make<detail::socket_state>(fd, options)) {}

unix_listener unix_listener::listen(const std::string& path, listen_options options) {
  const native_path at(path);
  return unix_listener(detail::listen_at(at.get(), at.len, path, options));
}

unix_listener unix_listener::adopt(int fd, listen_options options) {
  return unix_listener(detail::adopt_listening(fd, true, options));
}

task<unix_stream> unix_connect(std::string path, stream_options options) {
  const native_path to(path);
  const int fd = driver_here().socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0) throw failure(kernel_error(fd), "cannot make a socket for " + path);
  unix_stream conn(fd, options);
  // EAGAIN: the listener's queue is full. The kernel reports nothing when there is room again, so
  // it is asked again, each time after a longer while.
  std::int64_t outcome = -EAGAIN;
  for (milliseconds pause(1); outcome == -EAGAIN; pause = std::min(2 * pause, connect_pause_max)) {
    one_operation connecting(op_code::connect, fd, "connect");
    connecting.data = const_cast<::sockaddr*>(to.get());
    connecting.len = to.len;
    outcome = co_await connecting;
    if (outcome == -EAGAIN) co_await sleep_for(pause);
  }
  if (outcome < 0)
    throw failure(kernel_error(static_cast<int>(outcome)), "cannot connect to " + path);
  co_return conn;
}

std::pair<unix_stream, unix_stream> unix_pair(stream_options options) {
  int ends[2];
  if (const int error = driver_here().socket_pair(ends); error < 0)
    throw failure(kernel_error(error), "cannot make a pair of sockets");
  int second = ends[1];
  try {
    unix_stream one(ends[0], options);
    return {std::move(one), unix_stream(std::exchange(second, -1), options)};
  } catch (...) {
    if (second >= 0) driver_here().close(second, worker::here());
    throw;
  }
}

}  // namespace heddle

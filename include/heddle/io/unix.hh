// SPDX-License-Identifier: MIT
// Unix sockets: streams between processes of one machine, named by a path. A path that begins with
// '@' is a name of its own, in no folder, that goes away with its listener.
//
//   unix_listener door = unix_listener::listen("run/service.socket");
//   unix_stream conn = co_await unix_connect("run/service.socket");
#pragma once

#include <string>
#include <utility>

#include "heddle/core/task.hh"
#include "heddle/io/listener.hh"

namespace heddle {

/// A connected Unix socket. All else is as for stream.
class unix_stream : public stream {
 public:
  unix_stream() noexcept = default;
  /// Takes a connected socket that the driver made.
  explicit unix_stream(int fd, stream_options options = {});

 private:
  friend class detail::accept_awaiter_of<unix_stream>;
  using stream::stream;
};

/// Accepts connections on a path. All else is as for listener.
/// Fails: listen() throws failure, naming the path; address_in_use if the file exists, in use or
///   left behind (remove_file() removes it). The file stays when the listener goes.
class unix_listener : public listener {
 public:
  unix_listener() noexcept = default;
  [[nodiscard]] static unix_listener listen(const std::string& path, listen_options options = {});
  /// Takes a socket that listens already, as tcp_listener::adopt() does.
  [[nodiscard]] static unix_listener adopt(int fd, listen_options options = {});

  [[nodiscard]] accept_of<unix_stream> accept() const noexcept {
    return accept_of<unix_stream>(state_);
  }

 private:
  using listener::listener;
};

/// Connects. Fails as the system says, naming the path; filename_too_long beyond 107 bytes.
[[nodiscard]] task<unix_stream> unix_connect(std::string path, stream_options options = {});
/// Two sockets connected to each other. Throws failure when descriptors run out.
[[nodiscard]] std::pair<unix_stream, unix_stream> unix_pair(stream_options options = {});

}  // namespace heddle

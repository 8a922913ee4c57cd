// SPDX-License-Identifier: MIT
// The calls on descriptors that never block, so that they need no operation.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>

struct iovec;
struct sockaddr;

namespace heddle {

class worker;

/// The input of a connection that was not read yet.
struct unread_input {
  /// The peer has ended its side: nothing comes behind the bytes that have arrived.
  bool ended = false;
  /// Nothing can be sent to the peer any more either.
  bool over = false;
  /// The bytes before that end; unset if the number is not known.
  std::optional<std::uint64_t> bytes = {};
};

/// Each call returns >= 0 or -errno. Descriptors are non-blocking and close-on-exec.
/// Thread: the worker's.
class driver_sockets {
 public:
  [[nodiscard]] virtual int socket(int domain, int type, int protocol) noexcept = 0;
  [[nodiscard]] virtual int bind(int fd, const ::sockaddr* to, unsigned len) noexcept = 0;
  [[nodiscard]] virtual int listen(int fd, int backlog) noexcept = 0;
  [[nodiscard]] virtual int local_name(int fd, ::sockaddr* out, unsigned* len) noexcept = 0;
  [[nodiscard]] virtual int peer_name(int fd, ::sockaddr* out, unsigned* len) noexcept = 0;
  [[nodiscard]] virtual int set_option(int fd, int level, int option, const void* value,
                                       unsigned len) noexcept = 0;
  [[nodiscard]] virtual int socket_pair(int (&ends)[2]) noexcept = 0;  ///< Unix stream sockets
  [[nodiscard]] virtual int pipe(int (&ends)[2]) noexcept = 0;         ///< read end, write end
  [[nodiscard]] virtual int shutdown(int fd, int how) noexcept = 0;
  /// Tells the driver of a descriptor that other code opened, whose operations will come here.
  virtual void adopt([[maybe_unused]] int fd) noexcept {}
  /// Ends the operations that are pending on the descriptor with -ECANCELED, and closes it.
  virtual void close(int fd, worker& w) noexcept = 0;

  /// Sends the part of these pieces that the socket takes at this moment, without an operation;
  /// returns how many bytes, or -errno. A driver that batches its requests to the kernel returns 0,
  /// and so does any driver while the socket is full or other operations wait to send.
  [[nodiscard]] virtual std::int64_t send_now([[maybe_unused]] int fd,
                                              [[maybe_unused]] const ::iovec* pieces,
                                              [[maybe_unused]] std::size_t count) noexcept {
    return 0;
  }
  /// As send_now(), for a head, which may be empty, and behind it a part of a file that is in
  /// memory, which is not copied. Returns how many bytes were sent, 0 if the file ends at `at`,
  /// else -errno: -EAGAIN if the socket is full or other operations wait to send. `never_waits`: a
  /// call on this socket never blocks, as on accepted sockets; for others the driver finds that
  /// out.
  [[nodiscard]] virtual std::int64_t send_file_now([[maybe_unused]] int fd,
                                                   [[maybe_unused]] const ::iovec& head,
                                                   [[maybe_unused]] int file,
                                                   [[maybe_unused]] std::uint64_t at,
                                                   [[maybe_unused]] std::size_t count,
                                                   [[maybe_unused]] bool never_waits) noexcept {
    return -EAGAIN;
  }
  /// The least size for which send_file_now() costs less than a copy; the largest number: never.
  [[nodiscard]] virtual std::size_t send_file_from() const noexcept { return ~std::size_t{0}; }
  /// Whether reading or accepting would find something now.
  [[nodiscard]] virtual bool has_input([[maybe_unused]] int fd) noexcept { return false; }
  /// Whether the peer has ended its side, though bytes before that end were not read. Reads
  /// nothing. A driver that cannot see it says that the peer has not.
  [[nodiscard]] virtual unread_input unread([[maybe_unused]] int fd) noexcept { return {}; }

 protected:
  ~driver_sockets() = default;
};

}  // namespace heddle

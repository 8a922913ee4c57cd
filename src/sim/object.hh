// SPDX-License-Identifier: MIT
// The target of a descriptor in the simulated world: a socket, a pipe's end, a file, a source of
// signals. An object answers at once or says `later`; the world keeps the requests that wait and
// tries them again, in order, when the object says that it changed.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cerrno>
#include <deque>
#include <limits>
#include <memory>
#include <span>

#include "heddle/sim/options.hh"

namespace heddle::sim {

class computer;
class process;
class world;

/// The answer of an object that cannot answer yet.
inline constexpr std::int64_t later = std::numeric_limits<std::int64_t>::min();

/// One attempt to move bytes.
struct transfer {
  std::span<const ::iovec> pieces;
  std::size_t bytes_max;        ///< move no more than this, though there may be room
  unsigned flags = 0;           ///< MSG_*
  ::msghdr* message = nullptr;  ///< for addresses, when there is one
  std::uint64_t offset = at_cursor;
  bool socket_call = false;  ///< receive or send: an object that is no socket refuses it

  /// The size of all pieces, and at most bytes_max.
  [[nodiscard]] std::size_t bytes() const noexcept {
    const std::size_t all = capacity();
    return all < bytes_max ? all : bytes_max;
  }
  [[nodiscard]] std::size_t capacity() const noexcept {
    std::size_t sum = 0;
    for (const ::iovec& piece : pieces) sum += piece.iov_len;
    return sum;
  }
  /// Copies into the pieces, or out of them.
  void fill(const char* from, std::size_t len) const noexcept;
  void take(char* to, std::size_t len) const noexcept;
};

class object : public std::enable_shared_from_this<object> {
 public:
  object(process& owner) noexcept;
  virtual ~object() = default;
  object(const object&) = delete;
  object& operator=(const object&) = delete;

  // Each function answers >= 0, -errno or, where operations wait, `later`.
  virtual std::int64_t get(const transfer&) { return -EINVAL; }
  virtual std::int64_t put(const transfer&) { return -EINVAL; }
  virtual std::int64_t accept() { return -ENOTSOCK; }
  virtual std::int64_t connect(const ::sockaddr*, unsigned) { return -ENOTSOCK; }
  /// Called when the caller has given up the connect that was going on.
  virtual void abandon_connect() {}
  virtual int bind(const ::sockaddr*, unsigned) { return -ENOTSOCK; }
  virtual int listen(int) { return -ENOTSOCK; }
  virtual int shutdown(int) { return -ENOTSOCK; }
  virtual int local_name(::sockaddr*, unsigned*) { return -ENOTSOCK; }
  virtual int peer_name(::sockaddr*, unsigned*) { return -ENOTSOCK; }
  virtual int set_option(int, int, const void*, unsigned) { return -ENOTSOCK; }
  /// The poll events that hold now: POLLIN, POLLOUT, ...
  [[nodiscard]] virtual short events() = 0;
  /// Bytes that have arrived and were not read.
  [[nodiscard]] virtual std::size_t unread_bytes() const { return 0; }
  /// Breaks the connection, if the object is one.
  virtual void reset() {}
  virtual void describe(struct ::statx& out) = 0;
  /// Called when the object's descriptor is gone; its waiting requests have ended.
  virtual void closed() {}

  process& owner;              ///< the process that has, or had, its descriptor
  computer& here;              ///< where it is
  const std::uint64_t number;  ///< names the object in lanes and records
  int fd = -1;
  std::deque<std::uint64_t> waiting[2];  ///< requests that wait to get and to put
  std::deque<std::uint64_t> polls;
  bool stirred = false;  ///< already in the world's list of changed objects

 protected:
  world& world_;
};

/// `out` gets as much of a name as fits; *len says how long it is.
int copy_name(std::span<const char> name, ::sockaddr* out, unsigned* len) noexcept;

/// Gets one signalfd_siginfo for each signal of its mask that was raised.
class signal_reader final : public object {
 public:
  signal_reader(process& owner, std::uint64_t mask) noexcept : object(owner), mask(mask) {}
  std::int64_t get(const transfer& t) override;
  short events() override;
  void describe(struct ::statx& out) override;
  const std::uint64_t mask;
};

}  // namespace heddle::sim

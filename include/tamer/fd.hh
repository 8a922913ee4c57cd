// SPDX-License-Identifier: MIT
// tamer::fd: a counted descriptor with operations that end with events. Errors are negative ints.
// Reads of one descriptor complete in the order of the calls, and writes too.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <utility>

#include "tamer/adapter.hh"

namespace tamer {

namespace detail {
struct descriptor;
}

/// An event for the result of an operation. An event<> serves where the result does not matter.
class int_event : public event<int> {
 public:
  int_event(event<int> e) noexcept : event<int>(std::move(e)) {}
  int_event(event<> e) : event<int>(heddle::rebind<int>(std::move(e))) {}
};

/// Thread: the runtime's.
/// Owns: copies share the descriptor; the last one closes it.
/// Cancel: an operation whose event becomes empty stops, and what it had counted stays counted.
///   close() ends what is pending with -ECANCELED; later operations end with -EBADF.
/// Fails: results are negative errno values; error() is that of making the descriptor.
class fd {
 public:
  fd() noexcept = default;
  /// Takes a descriptor number, or a negative error.
  explicit fd(int value);
  fd(const fd& other) noexcept;
  fd(fd&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  fd& operator=(fd other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~fd();

  static constexpr int default_backlog = 128;

  [[nodiscard]] static fd open(const char* path, int flags, mode_t mode = 0777);
  static void open(std::string path, int flags, mode_t mode, event<fd> done);
  static void open(std::string path, int flags, event<fd> done);
  [[nodiscard]] static fd socket(int domain, int type, int protocol);
  static int pipe(fd& read_end, fd& write_end);
  static int socketpair(int domain, int type, int protocol, fd& first, fd& second);

  [[nodiscard]] explicit operator bool() const noexcept { return fdnum() >= 0; }
  [[nodiscard]] bool valid() const noexcept { return fdnum() >= 0; }
  [[nodiscard]] bool operator!() const noexcept { return fdnum() < 0; }
  /// The number, or a negative error.
  [[nodiscard]] int fdnum() const noexcept;
  [[nodiscard]] int value() const noexcept { return fdnum(); }
  /// 0, or why there is no descriptor.
  [[nodiscard]] int error() const noexcept;
  int make_nonblocking();
  static int make_nonblocking(int number);
  /// How many descriptors the process may have open (RLIMIT_NOFILE), or a negative error.
  [[nodiscard]] static int open_limit();
  /// Sets that limit as far as the system allows, and returns the new one.
  static int open_limit(int wanted);

  /// Fills the buffer, or stops at the end of the file (result 0 and a short count) or at an error.
  /// `count` is current at all times.
  void read(void* buffer, std::size_t size, std::size_t& count, int_event done);
  void read(void* buffer, std::size_t size, event<std::size_t, int> done);
  void read(void* buffer, std::size_t size, int_event done);
  void read(const iovec* pieces, int pieces_len, std::size_t& count, int_event done);
  void readv(const iovec* pieces, int pieces_len, std::size_t& count, int_event done) {
    read(pieces, pieces_len, count, std::move(done));
  }
  /// As read(), but makes one transfer only.
  void read_once(void* buffer, std::size_t size, std::size_t& count, int_event done);
  void read_once(void* buffer, std::size_t size, event<std::size_t, int> done);
  void read_once(const iovec* pieces, int pieces_len, std::size_t& count, int_event done);

  void write(const void* buffer, std::size_t size, std::size_t& count, int_event done);
  void write(const void* buffer, std::size_t size, event<std::size_t, int> done);
  void write(const void* buffer, std::size_t size, int_event done);
  /// The string is kept until it has been written.
  void write(std::string text, std::size_t& count, int_event done);
  void write(std::string text, event<std::size_t, int> done);
  void write(std::string text, int_event done);
  void write(const iovec* pieces, int pieces_len, std::size_t& count, int_event done);
  void writev(const iovec* pieces, int pieces_len, std::size_t& count, int_event done) {
    write(pieces, pieces_len, count, std::move(done));
  }
  void write_once(const void* buffer, std::size_t size, std::size_t& count, int_event done);
  void write_once(const void* buffer, std::size_t size, event<std::size_t, int> done);
  void write_once(const iovec* pieces, int pieces_len, std::size_t& count, int_event done);

  void sendmsg(const void* buffer, std::size_t size, int_event done);
  /// As sendmsg() above, and passes a descriptor, over a Unix socket.
  void sendmsg(const void* buffer, std::size_t size, int passed, int_event done);

  void fstat(struct stat& out, int_event done);

  int listen(int backlog = default_backlog);
  int bind(const sockaddr* address, socklen_t len);
  void accept(event<fd> done);
  void accept(sockaddr* address, socklen_t* len, event<fd> done);
  void connect(const sockaddr* address, socklen_t len, int_event done);
  int shutdown(int how);

  /// Fires e when the descriptor is closed; at once if it is closed already.
  void at_close(event<> e);
  void close(int leave_error = -EBADF);
  /// As close() above; `done` gets 0, or -EBADF if the descriptor was closed before.
  void close(event<int> done);
  /// An event that closes the descriptor when it fires; empty if there is none.
  [[nodiscard]] event<> closer() const;
  /// Closes after a write that failed or a protocol that was broken.
  void error_close(int error) { close(error); }

  friend bool operator==(const fd& a, const fd& b) noexcept { return a.state_ == b.state_; }

 private:
  friend struct detail::descriptor;
  detail::descriptor* state_ = nullptr;
};

/// A reference to the descriptor of an fd.
///
/// Thread: the runtime's.
/// Owns: a strong reference is a copy of the fd; a weak one does not keep the descriptor open, and
///   is invalid (-EBADF) when the last fd has gone.
class fdref {
 public:
  enum ref_type { strong, weak };

  fdref() noexcept = default;
  explicit fdref(const fd& f, ref_type t = strong) noexcept;
  fdref(const fdref& other) noexcept;
  fdref(fdref&& other) noexcept
      : state_(std::exchange(other.state_, nullptr)), type_(other.type_) {}
  fdref& operator=(fdref other) noexcept {
    std::swap(state_, other.state_);
    std::swap(type_, other.type_);
    return *this;
  }
  ~fdref();

  [[nodiscard]] explicit operator bool() const noexcept { return fdnum() >= 0; }
  [[nodiscard]] bool valid() const noexcept { return fdnum() >= 0; }
  [[nodiscard]] bool operator!() const noexcept { return fdnum() < 0; }
  [[nodiscard]] int fdnum() const noexcept;
  [[nodiscard]] int value() const noexcept { return fdnum(); }
  [[nodiscard]] int error() const noexcept { return fdnum() < 0 ? fdnum() : 0; }
  [[nodiscard]] ref_type type() const noexcept { return type_; }
  /// A copy of the fd, which keeps the descriptor open; an fd without a number if the last has
  /// gone.
  [[nodiscard]] fd get() const noexcept;
  operator fd() const noexcept { return get(); }

 private:
  detail::descriptor* state_ = nullptr;
  ref_type type_ = strong;
};

[[nodiscard]] fd tcp_listen(int port, int backlog = fd::default_backlog);
void tcp_listen(int port, event<fd> done);
void tcp_listen(int port, int backlog, event<fd> done);
void tcp_connect(in_addr address, int port, event<fd> done);
void udp_connect(in_addr address, int port, event<fd> done);
[[nodiscard]] fd unix_stream_listen(std::string path, int backlog = fd::default_backlog);
void unix_stream_connect(std::string path, event<fd> done);

/// A process that exec() started, or a negative error.
struct exec_fd {
  enum type { fdtype_newin, fdtype_newout, fdtype_share, fdtype_transfer };
  int child_fd;
  type what;
  fd f;
  explicit exec_fd(int number, type t = fdtype_share, fd with = fd())
      : child_fd(number), what(t), f(std::move(with)) {}
};
[[nodiscard]] pid_t exec(std::vector<exec_fd>& fds, const char* program, bool path,
                         const std::vector<const char*>& arguments);
/// As exec() above, with pipes to the program's input and from its output.
[[nodiscard]] pid_t exec(fd& in, fd& out, const char* program, bool path, const char* argument0,
                         const char* argument1 = nullptr, const char* argument2 = nullptr,
                         const char* argument3 = nullptr);

namespace fdx {
using tamer::tcp_connect;
using tamer::tcp_listen;
using tamer::udp_connect;
}  // namespace fdx

}  // namespace tamer

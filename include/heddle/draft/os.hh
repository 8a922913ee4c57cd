// SPDX-License-Identifier: MIT
// Datagrams, descriptors of C libraries, pipes and processes of Draft: handles of heddle/abi.h.
//
//   const draft::udp u = draft::open_udp(7777);
//   const draft::packet p = co_await u.receive();
//   co_await u.send(p.from, p.data);
//
//   draft::process child = co_await draft::run_program("sort", "-n");
//   co_await child.input("2\n1\n");
//   child.end_input();
#pragma once

#include <cstring>
#include <string_view>

#include "heddle/draft/network.hh"
#include "heddle/draft/text.hh"

namespace heddle::from_draft {

/// A datagram and its sender.
struct packet {
  packet() noexcept = default;
  /// Takes what C has given.
  explicit packet(const heddle_packet& made) : data(view_of(heddle_bytes_view(made.data))) {
    std::memcpy(static_cast<void*>(&from), &made.from, sizeof from);
    heddle_bytes_release(this_worker(), made.data);
  }
  bytes data;
  heddle::address from;

 private:
  static std::string_view view_of(heddle_view v) noexcept { return {v.data, v.len}; }
};

namespace detail {
template <>
struct raw_result<packet> {
  using type = heddle_packet;
};
}  // namespace detail

/// Thread: one color. Owns: the socket.
class udp {
 public:
  udp() noexcept = default;
  explicit udp(heddle_udp* made) noexcept : raw_(made) {}
  /// The port, also where 0 was asked for.
  [[nodiscard]] std::uint16_t port() const noexcept {
    return heddle_udp_port(this_worker(), raw_.get());
  }
  /// The next datagram. Fails: error.too_big for one that is larger than the socket's size.
  [[nodiscard]] auto receive() const { return detail::ask<heddle_udp_receive, packet>(raw_.get()); }
  /// Sends one datagram.
  [[nodiscard]] auto send(heddle::address to, std::string_view what) const {
    heddle_address raw;
    std::memcpy(&raw, static_cast<const void*>(&to), sizeof raw);
    return detail::ask<heddle_udp_send>(raw_.get(), raw, to_c(what));
  }

 private:
  detail::owned_handle<heddle_udp, heddle_udp_close> raw_;
};

/// A socket on a port, 0 for a free one, for datagrams of at most `size` bytes, 1 to 65,535.
[[nodiscard]] inline udp open_udp(std::uint16_t port, std::string_view host = "127.0.0.1",
                                  std::int64_t size = 2048) {
  return udp(detail::made<heddle_udp>([&](heddle_udp** out) {
    return heddle_udp_open(this_worker(), port, to_c(host), size, out);
  }));
}

/// Thread: one color. Owns: a duplicate; the C library may close its own meanwhile.
class descriptor {
 public:
  descriptor() noexcept = default;
  explicit descriptor(heddle_descriptor* made) noexcept : raw_(made) {}
  /// Waits until it can be read or written without blocking, or has an error.
  [[nodiscard]] auto ready(mode which) const {
    return detail::ask<heddle_descriptor_ready>(raw_.get(), static_cast<std::int32_t>(which));
  }

 private:
  detail::owned_handle<heddle_descriptor, heddle_descriptor_close> raw_;
};

/// Throws error.invalid for a number that is no descriptor.
[[nodiscard]] inline descriptor adopt(std::int64_t fd) {
  return descriptor(detail::made<heddle_descriptor>(
      [&](heddle_descriptor** out) { return heddle_descriptor_adopt(this_worker(), fd, out); }));
}

/// Thread: one color. Owns: both ends.
class pipe {
 public:
  pipe() noexcept = default;
  explicit pipe(heddle_pipe* made) noexcept : raw_(made) {}
  /// Appends what arrived; how many bytes. Fails: error.eof at the end, error.full without room.
  [[nodiscard]] auto read(buffer& to) const {
    return detail::ask<heddle_pipe_read, std::int64_t>(raw_.get(), to.raw());
  }
  /// Sends all of it.
  [[nodiscard]] auto write(std::string_view what) const {
    return detail::ask<heddle_pipe_write>(raw_.get(), to_c(what));
  }
  /// No more is written: the reader sees the end.
  void shutdown() const noexcept { heddle_pipe_shutdown(this_worker(), raw_.get()); }

 private:
  detail::owned_handle<heddle_pipe, heddle_pipe_close> raw_;
};

[[nodiscard]] inline pipe open_pipe() {
  return pipe(detail::made<heddle_pipe>(
      [](heddle_pipe** out) { return heddle_pipe_open(this_worker(), out); }));
}

/// A child. It runs on when its handle ends. Thread: one color. Owns: our ends of its pipes.
class process {
 public:
  using handle_type = heddle_process;

  process() noexcept = default;
  explicit process(heddle_process* made) noexcept : raw_(made) {}
  /// Sends all of it to the standard input of the process.
  [[nodiscard]] auto input(std::string_view what) const {
    return detail::ask<heddle_process_input>(raw_.get(), to_c(what));
  }
  /// The process sees the end of its standard input.
  void end_input() const noexcept { heddle_process_end_input(this_worker(), raw_.get()); }
  /// Appends what the process wrote; how many bytes. Fails: error.eof at the end.
  [[nodiscard]] auto output(buffer& to) const {
    return detail::ask<heddle_process_output, std::int64_t>(raw_.get(), to.raw());
  }
  /// Waits for its end; its exit code, or 128 and the number of the signal that ended it.
  [[nodiscard]] auto wait() const {
    return detail::ask<heddle_process_wait, std::int64_t>(raw_.get());
  }
  /// Sends a signal; nothing happens to a process that has ended.
  void kill(std::int64_t signal = 15) const {
    check_status(heddle_process_kill(this_worker(), raw_.get(), signal));
  }

 private:
  detail::owned_handle<heddle_process, heddle_process_close> raw_;
};

/// Starts a program, found on PATH, with the arguments, one a line.
[[nodiscard]] inline auto run_program(std::string_view program, std::string_view arguments = "") {
  return detail::ask<heddle_process_run, process>(to_c(program), to_c(arguments));
}

}  // namespace heddle::from_draft

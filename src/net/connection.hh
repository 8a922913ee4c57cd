// SPDX-License-Identifier: MIT
// One connection of a stack as functions see it: bytes that arrived and have not been read, room to
// write, and how it ended.
#pragma once

#include <cstdint>
#include <memory>
#include <system_error>

#include "heddle/base/detail/legal_move.hh"
#include "heddle/core/task.hh"
#include "heddle/io/chain.hh"
#include "heddle/io/received.hh"
#include "heddle/io/stream.hh"
#include "heddle/sync/condition.hh"
#include "heddle/tcp/stack.hh"

namespace heddle::net::detail {

class host;
struct held_piece;

///   unnamed  the stack does not know it yet
///   opening  it has a name in the stack; the handshake is not complete
///   open     it has a name in the stack; the handshake is complete
///   failed   it ended before it was open
///   ended    it ended, by either side, after it was open
/// Legal moves: unnamed -> opening; opening -> open, failed; open -> ended. Builds with sanitizers,
/// and those without NDEBUG, check each move.
enum class connection_state : std::uint8_t { unnamed, opening, open, failed, ended };
[[nodiscard]] constexpr bool is_legal(connection_state from, connection_state to) noexcept {
  using enum connection_state;
  switch (to) {
    case unnamed:
      return false;
    case opening:
      return from == unnamed;
    case open:
    case failed:
      return from == opening;
    case ended:
      return from == open;
  }
  return false;
}

/// Thread: the color of its host.
/// Owns: bytes that arrived. Written bytes belong to the host until they are acknowledged.
/// Cancel: a wait ends; a write that had sent a part ends the connection.
/// Fails: with the reason for which the connection ended.
class connection {
 public:
  explicit connection(host& h) noexcept : host_(h) {}
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection();

  /// Sets the connection's name in the stack.
  void is_named(tcp::connection name) noexcept;
  [[nodiscard]] tcp::connection name() const noexcept { return name_; }

  /// Waits until connect() has succeeded. Throws when it fails.
  [[nodiscard]] task<> opened();
  /// Waits for bytes and gives all that have arrived, at least one; nothing at the end.
  [[nodiscard]] task<received> pull();
  /// Queues all bytes; each byte is referenced or copied when push() ends.
  [[nodiscard]] task<> push(chain out);
  [[nodiscard]] sent_now try_push(byte_view head, const piece& body) noexcept;
  /// See stream::unread().
  [[nodiscard]] unread_input unread() const noexcept {
    return {.ended = peer_finished_ || over(), .over = over(), .bytes = in_bytes_};
  }
  void end_writing() noexcept;
  /// Ends the connection: after the written bytes, or with a reset.
  void close(bool by_reset) noexcept;

  // Called by the host.
  void arrived(std::span<const std::byte> bytes) noexcept;
  void acknowledged(std::uint32_t bytes) noexcept;
  void peer_finished() noexcept;
  void is_open() noexcept;
  void has_ended(tcp::ending how) noexcept;
  void has_memory() noexcept;

 private:
  /// Room in the connection's own queue.
  [[nodiscard]] std::size_t own_room() const noexcept;
  /// Room in the queue and the stack's memory. 0 for lack of memory: has_memory() will be called.
  [[nodiscard]] std::size_t room();
  /// Hands a piece to the stack, which then owns it. If the stack has no memory for it after all,
  /// the piece is destroyed and has_memory() will be called.
  [[nodiscard]] std::size_t hand_over(held_piece* h, byte_view bytes);
  void wait_for_memory();
  /// Queues the bytes that fit, and gives their number. Throws std::bad_alloc.
  [[nodiscard]] std::size_t queue(byte_view head, const piece& body);
  [[nodiscard]] std::size_t queue_copy(byte_view first, byte_view second);
  [[nodiscard]] std::size_t queue_shared(const piece& whole);
  void check_writable() const;
  void move_to(connection_state next) noexcept {
    if constexpr (checks_moves) check_move(state_, next);
    state_ = next;
  }
  /// Whether the stack knows it.
  [[nodiscard]] bool named() const noexcept {
    return state_ == connection_state::opening || state_ == connection_state::open;
  }
  [[nodiscard]] bool over() const noexcept { return state_ >= connection_state::failed; }
  void move_to_end(tcp::ending how) noexcept;

  host& host_;
  tcp::connection name_{};
  connection_state state_ = connection_state::unnamed;
  tcp::ending ending_{};   // valid once it is over
  bool finished_ = false;  // this side writes no more
  bool peer_finished_ = false;
  bool wants_memory_ = false;  // listed in the host's want_memory_
  std::uint32_t queued_ = 0;   // written, not yet acknowledged
  // Bytes that arrived, in memory of std::malloc().
  std::byte* in_ = nullptr;
  std::uint32_t in_bytes_ = 0;
  std::uint32_t in_capacity_ = 0;
  condition readable_;
  condition writable_;
};

[[nodiscard]] std::error_code code_of(tcp::ending how) noexcept;

}  // namespace heddle::net::detail

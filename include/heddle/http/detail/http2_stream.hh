// SPDX-License-Identifier: MIT
// One stream of a connection of HTTP/2, as either end has it: the state of RFC 9113 section 5.1,
// its windows, and the part of a message that has arrived and was not read yet.
//
//   state         we may send   the peer may send   leaves it by
//   open          yes           yes                 end_local(), end_remote(), end_by_reset()
//   local_ended   no            yes                 end_remote(), end_by_reset()
//   remote_ended  yes           no                  end_local(), end_by_reset()
//   closed        no            no                  -
//   reset         no            no                  -
//   stopped       no            no                  -
//
// In `stopped` the peer had sent all of its message before either end reset the stream.
//
// A stream that is idle (section 5.1) has no object. Builds with sanitizers, and those without
// NDEBUG, check each move.
//
// For the parts of the library that speak HTTP/2; not for programs: it may change in any version.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "heddle/base/detail/legal_move.hh"
#include "heddle/http/detail/http2_output.hh"
#include "heddle/sync/detail/wake_once.hh"

namespace heddle::http {

enum class http2_stream_state : std::uint8_t {
  open,
  local_ended,
  remote_ended,
  closed,
  reset,
  stopped,
};

[[nodiscard]] constexpr bool is_legal(http2_stream_state from, http2_stream_state to) noexcept {
  using enum http2_stream_state;
  switch (to) {
    case open:
      return false;
    case local_ended:
    case remote_ended:
      return from == open;
    case closed:
      return from == local_ended || from == remote_ended;
    case reset:
      return from == open || from == local_ended;
    case stopped:
      return from == remote_ended;
  }
  return false;
}

/// Thread: the connection's color. Owns: bytes that have arrived, at most a window.
class http2_stream {
 public:
  http2_stream() = default;
  http2_stream(const http2_stream&) = delete;
  http2_stream& operator=(const http2_stream&) = delete;

  [[nodiscard]] std::uint32_t id() const noexcept { return sender.id; }

  [[nodiscard]] http2_stream_state state() const noexcept { return state_; }
  /// Whether we may send: neither did we end the stream nor did a reset.
  [[nodiscard]] bool may_send() const noexcept {
    return state_ == http2_stream_state::open || state_ == http2_stream_state::remote_ended;
  }
  /// Whether the peer has sent END_STREAM.
  [[nodiscard]] bool has_ended_remote() const noexcept {
    return state_ == http2_stream_state::remote_ended || state_ == http2_stream_state::closed ||
           state_ == http2_stream_state::stopped;
  }
  /// Whether either end has reset the stream, or the connection has ended.
  [[nodiscard]] bool is_reset() const noexcept {
    return state_ == http2_stream_state::reset || state_ == http2_stream_state::stopped;
  }
  /// Whether nothing more will come.
  [[nodiscard]] bool is_over() const noexcept { return is_reset() || has_ended_remote(); }

  void end_local() noexcept {
    move_to(state_ == http2_stream_state::open ? http2_stream_state::local_ended
                                               : http2_stream_state::closed);
  }
  void end_remote() noexcept {
    move_to(state_ == http2_stream_state::open ? http2_stream_state::remote_ended
                                               : http2_stream_state::closed);
    news.wake();
  }
  /// Notes a reset. Changes nothing if both ends have sent END_STREAM, or the stream was reset
  /// already.
  void end_by_reset() noexcept {
    if (state_ == http2_stream_state::remote_ended) {
      move_to(http2_stream_state::stopped);
    } else if (is_legal(state_, http2_stream_state::reset)) {
      move_to(http2_stream_state::reset);
    }
    news.wake();
  }

  http2_sender sender;
  wake_once news;        // something has arrived, or the stream was reset
  std::string arrived;   // bytes of the body that no reader has
  std::string part;      // bytes of the body that the reader has
  std::string trailers;  // lines, each "name: value\r\n"
  std::int64_t receive_window = 0;
  std::optional<std::uint64_t> length;  // bytes of the body, if the head says it
  std::uint64_t body_bytes = 0;
  std::uint32_t to_give_back = 0;  // bytes of the window that were read, of which no frame told yet
  std::uint32_t empty_frames = 0;  // DATA frames without bytes, in a row
  bool has_head = false;           // the message's head has come: DATA is its body from here on

 protected:
  ~http2_stream() = default;

 private:
  void move_to(http2_stream_state next) noexcept {
    check_move(state_, next);
    state_ = next;
  }

  http2_stream_state state_ = http2_stream_state::open;
};

}  // namespace heddle::http

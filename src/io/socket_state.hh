// SPDX-License-Identifier: MIT
// The state of a connected socket: a multishot receive and the blocks that it brought and no
// reader has taken yet.
#pragma once

#include <bit>

#include "heddle/io/detail/connection_bytes.hh"
#include "heddle/io/detail/socket_input.hh"
#include "heddle/io/received.hh"
#include "heddle/io/stream.hh"
#include "io/descriptor_state.hh"

namespace heddle::detail {

/// A multishot receive and the blocks it brought. An idle connection is this and nothing else.
class socket_state : public descriptor_state {
 public:
  socket_state(int number, stream_options options) noexcept;
  ~socket_state() { drop_blocks(); }

  /// Serves an entry of the read lane from what has arrived; arms the receive when nothing has.
  [[nodiscard]] bool start(lane_entry& e, worker& w) noexcept;
  /// The next block, when it is here and no reader waits for it; else nothing.
  [[nodiscard]] received take(worker& w) noexcept;
  void drop_blocks() noexcept;
  /// See stream::unread().
  [[nodiscard]] unread_input unread() const noexcept;
  /// See socket_input.
  [[nodiscard]] std::int32_t wait_for_input(frame& waiting, worker& w) noexcept;
  [[nodiscard]] std::size_t read_now(byte_span into, worker& w) noexcept;
  [[nodiscard]] void* kept() const noexcept { return std::bit_cast<void*>(receiving_.offset); }
  void keep(void* what) noexcept { receiving_.offset = std::bit_cast<std::uint64_t>(what); }
  /// Wakes the frame of wait_for_input() if it need not wait any more, or arms the receive for it.
  void serve_input(worker& w) noexcept;
  [[nodiscard]] operation& receiving() noexcept { return receiving_; }
  /// Whether it is armed in another color than this one. Each use of a stream asks.
  [[nodiscard]] bool receives_elsewhere(std::uint32_t color) const noexcept {
    const std::uint32_t home = receives_in();
    return home != color && home != no_color;
  }
  /// The color in which it was armed last; no_color if it never was, or was detached since.
  [[nodiscard]] std::uint32_t receives_in() const noexcept {
    return home_in(receiving_.submitter_color);
  }

 private:
  struct untaken_blocks;
  struct block {
    std::byte* data;
    std::uint32_t number;  // or `own` and data's distance from the beginning of its memory
    std::uint32_t len;
  };
  static constexpr std::uint32_t own = std::uint32_t{1} << 31;
  /// The blocks that were not taken yet, in an array behind it: a cell of the worker's memory.
  struct block_queue {
    std::uint32_t capacity;
    std::uint16_t first;
    std::uint16_t end;
    [[nodiscard]] block& head() noexcept { return blocks()[first]; }
    [[nodiscard]] block* blocks() noexcept { return reinterpret_cast<block*>(this + 1); }
    [[nodiscard]] static std::size_t bytes_for(std::size_t count) noexcept {
      return sizeof(block_queue) + count * sizeof(block);
    }
  };
  /// The untaken blocks; null if there are none.
  [[nodiscard]] block_queue* queue() const noexcept {
    return static_cast<block_queue*>(receiving_.submitter_data);
  }
  [[nodiscard]] std::size_t untaken() const noexcept {
    return queue() == nullptr ? 0u : static_cast<std::size_t>(queue()->end - queue()->first);
  }
  void note_error(std::int64_t result) noexcept;
  /// The outcome of a reader once nothing more will come: 0 at the end of the stream, or -errno.
  [[nodiscard]] std::int32_t outcome_of_error() const noexcept;
  static bool arrived(operation& op, worker& w, const completion& c) noexcept;
  [[nodiscard]] bool push_block(block b, worker& w) noexcept;
  [[nodiscard]] static block keep(driver& d, const completion& c) noexcept;
  [[nodiscard]] received lend(const block& b) noexcept;
  void give_back(const block& b) noexcept;
  void pop_block(worker& w) noexcept;
  void arm(worker& w) noexcept;
  static const wait_kind kind_of_wait;

  // In the submitter's own fields, `submitter` names this, `submitter_data` queue(), and
  // `submitter_color` receives_in(); `offset`, which a receive does not use, is kept(), and the
  // operation's own wait that of wait_for_input(). An idle connection needs no further memory for
  // them.
  operation receiving_;
  static constexpr std::uint8_t at_end = 0xff;
  static constexpr std::uint8_t window_max = 127;
};

// An idle HTTP connection is this cell and a frame of 128 bytes: tests/web/idle_test.cc.
static_assert(sizeof(socket_state) == bytes_of_socket);

inline bool descriptor_state::taken_elsewhere(const worker& w) const noexcept {
  if (kind == descriptor_kind::socket) {  // inline, because each use of a stream asks
    return static_cast<const socket_state&>(*this).receives_elsewhere(w.color) && error == 0;
  }
  return kind == descriptor_kind::listener && home_elsewhere(w) != no_color && error == 0;
}

}  // namespace heddle::detail

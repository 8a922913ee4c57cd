// SPDX-License-Identifier: MIT
// What stands behind a handle: the number, the counts, the two lanes. It lives while a handle or an
// entry refers to it. `handles` reaching 0 closes the descriptor; with `pins` at 0 too, it is
// freed. A pin is held by each entry, and by a multishot operation from submit() to its last
// completion.
#pragma once

#include <cstdint>

#include "heddle/base/list.hh"
#include "heddle/io/lane.hh"
#include "heddle/io/received.hh"
#include "heddle/io/stream.hh"
#include "io/here.hh"

namespace heddle::detail {

class file_use;

enum class descriptor_kind : std::uint8_t { plain, file, socket, datagram, listener };

class descriptor_state {
 public:
  /// In the worker's memory. Closes `fd` and throws when there is none.
  template <class State, class... Args>
  [[nodiscard]] static State* make(int fd, Args... args);

  descriptor_state(int number, descriptor_kind what) noexcept : fd(number), kind(what) {}
  descriptor_state(const descriptor_state&) = delete;
  descriptor_state& operator=(const descriptor_state&) = delete;

  /// -1 when it is closed for users.
  [[nodiscard]] int number() const noexcept { return fd < 0 ? -1 : fd; }
  void close(worker& w) noexcept;
  void unpin_one() noexcept {
    if (--pins != 0) return;
    if (fd < -1) [[unlikely]]
      close_late();
    if (handles == 0) destroy();
  }
  void drop_handle() noexcept;

  [[nodiscard]] lane& lane_of(const lane_entry& e) noexcept { return e.write ? writes : reads; }
  /// Starts entries from the head of a lane until one has to wait.
  void advance(lane& line, worker& w) noexcept;
  /// An entry that is queued has ended, with e.outcome: its frame runs, the next one starts.
  void finish(lane_entry& e, worker& w) noexcept;
  /// The turn of e has come. Returns true when it is done at once.
  [[nodiscard]] bool start(lane_entry& e, worker& w) noexcept;

  // Entries done in a row without waiting before the frame goes behind the others: a peer that
  // always has data must not keep the worker. 32 small transfers are about 30 us.
  static constexpr std::uint8_t burst_max = 32;

  int fd;  ///< -1 when it is closed; below: closed for users, while another worker's driver ends
           ///< what it holds, and then to be closed under the number -2 - fd
  std::uint32_t handles = 1;
  std::uint32_t pins = 0;
  descriptor_kind kind;
  std::uint8_t burst = 0;   ///< entries in a row that were done without waiting
  std::uint8_t window = 0;  ///< sockets: blocks that may stand untaken
  std::uint8_t error = 0;   ///< sockets: why nothing more will come, errno or at_end
  lane reads;
  lane writes;

 private:
  void destroy() noexcept;
  [[gnu::cold]] void close_late() noexcept;
  /// Calls f with each operation on it that a driver may have.
  template <class F>
  void each_operation(F&& f) noexcept;
  /// Where another worker's driver has one of its operations: asks all of them to end.
  [[nodiscard]] bool cancel_elsewhere(worker& w) noexcept;
};

/// A file or a directory.
class file_state : public descriptor_state {
 public:
  explicit file_state(int number) noexcept : descriptor_state(number, descriptor_kind::file) {}
  list<file_use> uses;
};

/// A multishot receive and the blocks it brought. An idle connection is this and nothing else.
class socket_state : public descriptor_state {
 public:
  socket_state(int number, stream_options options) noexcept;
  ~socket_state() { drop_blocks(); }

  /// Serves an entry of the read lane from what has arrived; arms the receive when nothing has.
  /// A transfer with nothing to take is left to an operation of its own, if none is armed.
  enum class served : std::uint8_t { done, waits, direct };
  [[nodiscard]] served serve(lane_entry& e, worker& w) noexcept;
  /// The next block, when it is here and nobody waits for it; else nothing.
  [[nodiscard]] received take(worker& w) noexcept;
  void drop_blocks() noexcept;
  [[nodiscard]] operation& receiving() noexcept { return receiving_; }

 private:
  struct block {
    std::byte* data;
    std::uint32_t number;  // or `own` and how far data is from the beginning of its memory
    std::uint32_t len;
  };
  static constexpr std::uint32_t own = std::uint32_t{1} << 31;
  /// Blocks that nobody has taken yet, with room for some behind it: a cell of the worker's.
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
  /// Null while there are none. It stands in an argument that this operation does not have, so that
  /// an idle connection pays nothing for it.
  [[nodiscard]] block_queue* queue() const noexcept {
    return static_cast<block_queue*>(receiving_.data);
  }
  [[nodiscard]] std::size_t untaken() const noexcept {
    return queue() == nullptr ? 0u : static_cast<std::size_t>(queue()->end - queue()->first);
  }
  void note_error(std::int64_t result) noexcept;
  static bool arrived(operation& op, worker& w, const completion& c) noexcept;
  [[nodiscard]] bool push_block(block b, worker& w) noexcept;
  [[nodiscard]] static block keep(driver& d, const completion& c) noexcept;
  [[nodiscard]] received lend(const block& b) noexcept;
  void give_back(const block& b) noexcept;
  void pop_block(worker& w) noexcept;
  void arm(worker& w) noexcept;
  static const wait_kind kind_of_wait;

  operation receiving_;  // its `more` names this, its `data` the queue
  static constexpr std::uint8_t at_end = 0xff;
};

// An idle HTTP connection is this cell and a frame of 128 bytes: tests/http/idle_test.cc.
static_assert(sizeof(socket_state) <= 144);

template <class State, class... Args>
State* descriptor_state::make(int fd, Args... args) {
  worker& w = worker::here();
  try {
    return new (w.memory.allocate(sizeof(State))) State(fd, args...);
  } catch (...) {
    driver_here().close(fd, w);
    throw;
  }
}

[[nodiscard]] wait& wait_of(lane_entry& e) noexcept;

}  // namespace heddle::detail

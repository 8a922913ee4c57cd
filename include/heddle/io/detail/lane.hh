// SPDX-License-Identifier: MIT
// Turn-taking on one descriptor: reads complete in call order, writes too. Each direction has a
// lane, an intrusive queue of the operations that wait; its head is the one that the driver has, or
// that the next block of data goes to. Every awaiter on a descriptor has an entry; users name none
// of this. The functions are in src/io/lane_turns.cc.
//
// States of an entry: new -> queued -> head -> done, or new -> done at once. An entry leaves
// early, from any place, when it is cancelled or the descriptor is closed; if the driver holds its
// operation, the entry stays until the completion comes.
#pragma once

#include <cstdint>
#include <utility>

#include "heddle/base/error.hh"
#include "heddle/sched/operation.hh"

namespace heddle::detail {

class descriptor_state;
struct lane;

void pin(descriptor_state& state) noexcept;
void unpin(descriptor_state& state) noexcept;

/// The request of an entry once it is the head of the lane. Its value is the place of the role's
/// functions in a table (src/io/state_kinds.cc); no other code asks for it.
enum class lane_role : std::uint8_t {
  transfer,  ///< bytes in or out, possibly in several steps
  chain,     ///< a chain out
  message,   ///< one datagram
  receive,   ///< a block of data
  readable,  ///< news that there is data, or the end
  writable,  ///< news that there is room to send
  accept,    ///< a connection
  detach,    ///< an end of receiving ahead: stream::detach()
};

/// Keeps a descriptor's state alive, not the descriptor open. May be empty.
class pinned_state {
 public:
  explicit pinned_state(descriptor_state* state) noexcept : state_(state) {
    if (state_ != nullptr) pin(*state_);
  }
  pinned_state(pinned_state&& other) noexcept : state_(other.release()) {}
  pinned_state& operator=(pinned_state&&) = delete;
  ~pinned_state() {
    if (state_ != nullptr) unpin(*state_);
  }
  /// Gives up the pin: the caller must release the state.
  [[nodiscard]] descriptor_state* release() noexcept { return std::exchange(state_, nullptr); }

 private:
  descriptor_state* state_;
};

/// An awaiter's place in a lane.
struct lane_entry {
  /// How much of its bytes an entry moves before it is done.
  enum class extent : std::uint8_t { all, all_uncounted, some };

  lane_entry(pinned_state&& on, lane_role what, bool is_write, extent moves) noexcept
      : state(on.release()),
        role(what),
        write(is_write),
        ending(false),
        some(moves == extent::some),
        uncounted(is_write && moves == extent::all_uncounted) {}
  lane_entry(const lane_entry&) = delete;
  lane_entry& operator=(const lane_entry&) = delete;
  ~lane_entry() {
    if (queued()) leave();
    if (state != nullptr) unpin(*state);
  }

  /// Takes an entry out whose frame is destroyed while it waits.
  void leave() noexcept;
  /// Queues the entry and, if it is the first, starts it. Returns false when it is done already.
  [[nodiscard]] bool begin(wait& x, link frame) noexcept;
  /// Asks the entry to end: for wait_kind::cancel.
  void cancel(wait& x, worker& w) noexcept;

  [[nodiscard]] bool queued() const noexcept { return next != nullptr; }

  lane_entry* next = nullptr;  ///< in the lane; null while it is in none
  descriptor_state* state;     ///< pinned, or null
  std::int32_t outcome = 0;    ///< the last step's result, or -errno
  lane_role role;
  bool write;
  bool ending : 1;  ///< cancellation was asked for
  bool some : 1;    ///< one step that moved bytes is enough
  /// A write without a counter: if it ends early, its caller does not know how much has left, so
  /// the stream is cut (descriptor_state::cut).
  bool uncounted : 1;
};

/// A circular queue: `tail` is its last entry, whose `next` is the first.
struct lane {
  lane_entry* tail = nullptr;

  [[nodiscard]] lane_entry* head() const noexcept { return tail != nullptr ? tail->next : nullptr; }
  void push(lane_entry& e) noexcept;
  void remove(lane_entry& e) noexcept;
};

/// Throws the failure that the outcome of a step names, if it is negative.
inline void check_outcome(std::int64_t outcome) {
  if (outcome < 0) [[unlikely]]
    throw_failure(kernel_error(static_cast<int>(outcome)));
}

/// The common part of awaiters on a descriptor. Wait: `operation`, or `wait` for a role that needs
/// no operation of its own. The result is nothing, unless a derived class gives another.
template <class Wait>
class lane_awaiter : public Wait, public lane_entry {
 public:
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    return begin(*this, link_of(h));
  }
  void await_resume() const { check_outcome(outcome); }
  [[nodiscard]] result<void> await_result() const noexcept {
    if (outcome < 0) return std::unexpected(kernel_error(outcome));
    return {};
  }

 protected:
  /// Forwards the entry's arguments, and then those of the wait.
  template <class... Args>
  explicit lane_awaiter(pinned_state&& on, lane_role what, bool is_write, extent moves,
                        Args&&... args) noexcept
      : Wait(std::forward<Args>(args)...), lane_entry(std::move(on), what, is_write, moves) {}
  ~lane_awaiter() = default;
};

}  // namespace heddle::detail

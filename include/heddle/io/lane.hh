// SPDX-License-Identifier: MIT
// Turn-taking on one descriptor: reads complete in call order, writes too. Each direction has a
// lane, an intrusive queue of the operations that wait; its head is the one that the driver has, or
// that the next block of data goes to. Part of every awaiter on a descriptor; users name none of
// this.
//
// States of an entry: new (movable) -> queued -> head -> done, or new -> done at once. It leaves
// early, from any place, when it is cancelled or the descriptor is closed; if the driver holds its
// operation it stays until the completion comes.
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

/// What an entry wants when its turn comes.
enum class lane_role : std::uint8_t {
  transfer,  ///< bytes in or out, possibly in several steps
  chain,     ///< a chain out
  message,   ///< one datagram
  receive,   ///< a block of data
  readable,  ///< to know that there is data, or the end
  accept,    ///< a connection
};

/// An awaiter's place in a lane. It keeps the descriptor's state alive, not the descriptor open.
struct lane_entry {
  lane_entry(descriptor_state* on, lane_role what, bool is_write) noexcept
      : state(on), role(what), write(is_write) {
    if (state != nullptr) pin(*state);
  }
  lane_entry(lane_entry&& other) noexcept
      : state(std::exchange(other.state, nullptr)), role(other.role), write(other.write) {}
  lane_entry& operator=(lane_entry&&) = delete;
  ~lane_entry() {
    if (queued) leave();
    if (state != nullptr) unpin(*state);
  }

  /// For a frame that is destroyed while it waits in the program.
  void leave() noexcept;
  /// Queues and, if it is the first, starts. Returns false when it is done already.
  [[nodiscard]] bool begin(wait& x, link frame) noexcept;
  /// A request to end: for wait_kind::cancel.
  void cancel(wait& x, worker& w) noexcept;

  lane_entry* next = nullptr;
  descriptor_state* state;
  std::int32_t outcome = 0;  ///< of the last step, or -errno
  lane_role role;
  bool write;
  bool queued = false;
  bool ending = false;  ///< cancellation was asked for
};

/// A circular queue, named by its last entry.
struct lane {
  lane_entry* tail = nullptr;

  [[nodiscard]] lane_entry* head() const noexcept { return tail != nullptr ? tail->next : nullptr; }
  void push(lane_entry& e) noexcept;
  void remove(lane_entry& e) noexcept;
};

/// The result of a step, or the failure it names.
inline void check_outcome(std::int64_t outcome) {
  if (outcome < 0) [[unlikely]]
    throw_failure(kernel_error(static_cast<int>(outcome)));
}

}  // namespace heddle::detail

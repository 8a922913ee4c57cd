// SPDX-License-Identifier: MIT
// One request to the outside, and its completions. The record lies in the frame that waits (or in
// the object that keeps a multishot request going) and belongs to the driver from submit() until
// its last completion: the kernel's view is the truth. Cancelling is a request; an operation that
// had already succeeded delivers its result.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/base/detail/legal_move.hh"
#include "heddle/core/context.hh"

namespace heddle {

class driver;

/// The request. In comments: which argument fields count, and the result when it is not -errno.
enum class op_code : std::uint8_t {
  poll,         ///< fd, flags = POLLIN, POLLOUT, ... -> the events that are ready
  accept,       ///< fd (listener) -> descriptor of one connection
  accept_all,   ///< fd; many completions, each a descriptor, until cancelled or an error
  connect,      ///< fd, data = sockaddr, len -> 0
  receive,      ///< fd, data, len, flags (MSG_*) -> bytes, 0 at the end
  receive_all,  ///< fd; many completions, each a block of the driver's, until the end (0) or an
                ///< error
  send,         ///< fd, data, len, flags (MSG_*) -> bytes, possibly fewer than asked
  receive_msg,  ///< fd, data = msghdr, flags -> bytes
  send_msg,     ///< fd, data = msghdr, flags -> bytes, possibly fewer
  read,         ///< fd, data, len, offset (or at_cursor) -> bytes, 0 at the end
  write,        ///< fd, data, len, offset (or at_cursor) -> bytes, possibly fewer
  open,         ///< fd = directory (or AT_FDCWD), data = path, more = open_how -> descriptor
  stat,    ///< fd = directory, data = path ("" for fd itself), flags = AT_*, more = statx buffer
  sync,    ///< fd, flags != 0 for the data only -> 0
  list,    ///< fd = directory, more = std::vector<directory_entry>* (room io) -> number of entries
  remove,  ///< fd = directory, data = path, flags = AT_REMOVEDIR or 0 -> 0
  rename,  ///< fd = directory, data = old path, more = new path -> 0 (both beneath fd)
  make_directory,  ///< fd = directory, data = path, len = mode -> 0
  resolve,  ///< more = resolve_request (room io) -> 0 or a negative EAI_* code in the request
  call,     ///< more = argument, function = what to run where blocking is allowed -> its return
};

inline constexpr std::uint64_t at_cursor = ~std::uint64_t{0};

/// One completion. A block, when there is one, belongs to its receiver, until
/// driver::return_block.
struct completion {
  std::int64_t result = 0;  ///< as op_code says, or -errno
  bool more = false;        ///< further completions of this operation will come
  bool has_block = false;   ///< receive_all: `result` bytes are in block `block` of the driver
  std::uint32_t block = 0;
  bool scarce = false;  ///< has_block, and few blocks are free: copy bytes that you keep
};

/// An operation between its driver and its color:
///   idle        before submit(), and after its color has its last completion
///   pending     from submit() until its color has its last completion
///   cancel_out  as pending; a request to cancel is on its way to the home worker, or back
///   ended       as cancel_out; the last completion waits for the request to come back
/// Legal moves: idle -> pending; pending -> cancel_out, idle; cancel_out -> pending, ended;
/// ended -> idle. Builds with sanitizers, and those without NDEBUG, check each move.
enum class delivery_state : std::uint8_t { idle, pending, cancel_out, ended };
[[nodiscard]] constexpr bool is_legal(delivery_state from, delivery_state to) noexcept {
  using enum delivery_state;
  switch (to) {
    case idle:
      return from == pending || from == ended;
    case pending:
      return from == idle || from == cancel_out;
    case cancel_out:
      return from == pending;
    case ended:
      return from == cancel_out;
  }
  return false;
}

/// Thread: the color it was submitted in; the driver is that of the worker it was submitted on.
/// Lifetime: fixed in memory from submit() to the completion that has `more` false.
struct operation : wait {
  /// Called once for each completion, outside of user code; must not block. It may submit again. A
  /// multishot operation that gets false is ended by the driver: a completion already on the way is
  /// still delivered, and the last completion (-ECANCELED unless it ended by itself) has more =
  /// false.
  using complete_function = bool (*)(operation&, worker&, const completion&) noexcept;
  using call_function = std::int64_t (*)(void* argument) noexcept;

  operation(const wait_kind& kind, op_code what, int descriptor,
            complete_function on_complete) noexcept
      : wait(kind), complete(on_complete), code(what), fd(descriptor) {}

  /// Whether it was submitted and its color does not have its last completion. Thread: the color.
  [[nodiscard]] bool is_pending() const noexcept { return delivery != delivery_state::idle; }
  /// Thread: the color.
  void move_to(delivery_state next) noexcept {
    if constexpr (checks_moves) check_move(delivery, next);
    delivery = next;
  }

  complete_function complete;
  op_code code;
  std::uint8_t driver_state = 0;  ///< the driver's own
  std::uint16_t color = 0;        ///< where it completes: a place in the table of colors
  delivery_state delivery = delivery_state::idle;  ///< the scheduler's: changed by move_to()
  bool held = false;          ///< the driver has it; only the home worker may look
  bool cancel_asked = false;  ///< set by the driver: at most one request goes out
  /// The scheduler's own: a completion was lost, so it ends with -ENOMEM.
  bool out_of_memory = false;
  int fd;
  std::uint32_t len = 0;
  union {
    std::uint32_t flags = 0;
    std::uint32_t submitter_color;  ///< accept_all, receive_all: the submitter's own
  };
  std::uint8_t home = 0;  ///< the worker whose driver has the operation
  /// read, write: the caller needs only the total. The driver may complete partial transfers
  /// itself, counted in `moved`.
  bool whole = false;
  union {
    void* data = nullptr;
    void* submitter_data;  ///< accept_all, receive_all: the submitter's own
  };
  union {
    void* more = nullptr;
    void* submitter;    ///< accept_all, receive_all: the submitter's own
    std::size_t moved;  ///< read, write: see `whole`
  };
  union {
    std::uint64_t offset = at_cursor;
    call_function function;
  };
  operation* driver_next = nullptr;  ///< the driver's own: its queues are intrusive
  union {
    operation* driver_prev = nullptr;
    std::int64_t queued_ns;  ///< the blocking pool's own: since when it has queued the call
    /// The result of an operation that the driver has ended, until its last completion is
    /// delivered: the operation is in no queue that uses driver_prev.
    std::int64_t last_result;
  };
};

}  // namespace heddle

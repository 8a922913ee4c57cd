// SPDX-License-Identifier: MIT
// context: the things that a task inherits from the function that awaited or spawned it: a cancel
// scope, a deadline, a color, a trace id. Contexts form a tree. A running task's context is held by
// its worker; a suspended task's wait is linked into the context, so that a request to cancel finds
// every wait below it. A wait inside the program ends at once. An operation of the kernel is asked
// to end, and ends with its completion, which may still bring a result. A new wait in a cancelled
// context ends at once.
//
// Thread: the color's worker. Owns: a context belongs to the adapter or scope that opened it.
#pragma once

#include <concepts>
#include <system_error>

#include "heddle/base/list.hh"
#include "heddle/core/frame.hh"
#include "heddle/core/timer.hh"
#include "heddle/core/worker.hh"

namespace heddle {

struct wait;

/// The kind of a wait: one static object each.
struct wait_kind {
  const char* name;  ///< for dumps: "event", "sleep", "read", ...
  /// Asks the wait to end. The wait unlinks itself and queues its frame, at once or, if the kernel
  /// carries it out, later.
  void (*cancel)(wait&, worker&) noexcept;
  /// Whether the wait is for tasks that borrow its frame's variables. It ends with the last of
  /// them.
  bool for_children = false;
};

/// A suspended frame's entry in its context; a member or base of the awaiter, so it lies in the
/// frame.
struct wait : list_hook {
  explicit wait(const wait_kind& k) noexcept : list_hook(linked_at_once()), kind(&k) {}
  /// Parks the frame at once, which is cheaper than park() later.
  wait(const wait_kind& k, link f, worker& w) noexcept;
  wait(const wait&) = delete;
  wait& operator=(const wait&) = delete;
  ~wait() {
    if (parked()) take_out();
  }

  const wait_kind* kind;
  link frame = no_link;
  time_point since{};

  [[nodiscard]] bool parked() const noexcept { return frame != no_link; }
  /// Called when the context is cancelled; does nothing if the wait has been woken already.
  void ask_to_end(worker& w) noexcept {
    if (parked()) kind->cancel(*this, w);
  }
};

/// A number that orders frames: equal colors never run at once. Any integer will do: a descriptor,
/// a user's id, a shard.
struct color {
  constexpr color() noexcept = default;
  template <std::integral Number>
  constexpr explicit color(Number n) noexcept : number(static_cast<std::uint64_t>(n)) {}

  std::uint64_t number = 0;
  friend bool operator==(color, color) = default;
};

struct visit;

class context : public list_node {
 public:
  /// Opens a context below `parent`, in memory of the worker. Close it with close().
  [[nodiscard]] static context& open(worker& w, context* parent);
  static void close(worker& w, context& c) noexcept;

  /// A context for a function that runs in another color than the context around it
  /// (core/enter.hh). Its address marks it: see is_away().
  [[nodiscard]] static context& open_away(worker& w, context& parent, visit& v);
  static void close_away(worker& w, context& c) noexcept;
  /// Whether this is the low half of a context that open_away() made.
  [[nodiscard]] static constexpr bool is_away(std::uint32_t low) noexcept {
    return (low & away_bit) != 0;
  }

  [[nodiscard]] bool canceled() const noexcept { return (flags_ & canceled_flag) != 0; }
  /// Marks this context and everything below it, and asks each wait there to end.
  void cancel(worker& w) noexcept;
  /// Takes the mark of cancel() back. The context must have no waits and no contexts below it.
  void reopen() noexcept { flags_ &= static_cast<std::uint8_t>(~canceled_flag); }
  /// Waits in this context no longer end because of a request or a deadline from above. (A later
  /// cancel() on the context itself still works.)
  void shield() noexcept {
    flags_ = shielded_flag;
    deadline_ = never;
  }

  /// The earliest deadline set here or above.
  [[nodiscard]] time_point deadline() const noexcept { return deadline_; }
  void set_deadline(time_point when) noexcept {
    if (when < deadline_) deadline_ = when;
  }

  /// A number for task policies (sched/task_policy.hh).
  [[nodiscard]] unsigned priority() const noexcept { return priority_; }
  void set_priority(std::uint8_t p) noexcept { priority_ = p; }

  [[nodiscard]] std::uint32_t low() const noexcept {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(this));
  }
  [[nodiscard]] context* parent() const noexcept { return parent_; }
  [[nodiscard]] list<wait>& waits() noexcept { return waits_; }
  [[nodiscard]] list<context>& children() noexcept { return children_; }

  std::uint32_t color = 0;  ///< a place in the table of colors
  site opened_at = 0;
  std::uint64_t trace_id = 0;
  void* locals = nullptr;     ///< task-local values, inherited
  visit* visiting = nullptr;  ///< the visit for which open_away() made this context

 private:
  // Cells of contexts are multiples of 64 bytes; open_away() puts its context in the middle of a
  // cache line.
  static constexpr std::uint32_t away_bit = 32;
  static constexpr std::uint8_t canceled_flag = 1;
  static constexpr std::uint8_t shielded_flag = 2;

  explicit context(context* parent) noexcept;
  ~context() = default;

  context* parent_;
  list<context> children_;
  list<wait> waits_;
  time_point deadline_ = never;
  std::uint8_t flags_ = 0;
  std::uint8_t priority_ = 0;
};

static_assert(sizeof(context) + 32 <= slabs::context_bytes && slabs::context_bytes % 64 == 0);

/// The first part of our promises; it lies at offset 16 of the coroutine frame. It is 22 bytes
/// and not 24, so that the compiler's own data behind it still fits in a frame of 40.
#pragma pack(push, 2)
class promise_base {
 public:
  link next = no_link;  ///< offset 16 of the frame: see frame.hh

 private:
  std::uint32_t parent_low_ = 0;

 public:
  std::uint32_t context_low = 0;  ///< saved while suspended
  site at = 0;                    ///< the line of the last co_await

 private:
  std::uint16_t parent_high_ = 0;

 public:
  /// The join that gets the result. User addresses have at most 48 bits.
  [[nodiscard]] struct join* parent() const noexcept {
    return reinterpret_cast<join*>(std::uintptr_t{parent_high_} << 32 | parent_low_);
  }
  void set_parent(join& to) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(&to);
    parent_low_ = static_cast<std::uint32_t>(address);
    parent_high_ = static_cast<std::uint16_t>(address >> 32);
  }
};
#pragma pack(pop)

static_assert(sizeof(promise_base) == 22);

[[nodiscard]] inline promise_base& promise_of(link coroutine) noexcept {
  return *reinterpret_cast<promise_base*>(coroutine + next_offset);
}

inline wait::wait(const wait_kind& k, link f, worker& w) noexcept
    : list_hook(linked_at_once()), kind(&k), frame(f), since(w.now) {
  promise_of(f).context_low = w.context_now;
  w.current_context().waits().push_back(*this);
}

/// Parks a coroutine in its current context; the wait is then found by cancellation and by dump().
inline void park(wait& x, link frame, worker& w) noexcept {
  promise_of(frame).context_low = w.context_now;
  x.frame = frame;
  x.since = w.now;
  w.current_context().waits().push_back(x);
}

/// Ends a wait: its frame runs later, in the order of these calls.
inline void wake(wait& x, worker& w) noexcept {
  x.take_out();
  const link l = x.frame;
  x.frame = no_link;
  w.post(l);
}

}  // namespace heddle

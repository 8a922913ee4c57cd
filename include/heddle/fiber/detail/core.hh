// SPDX-License-Identifier: MIT
// The core of fibers: a stack, the two switches, and unwinding. Users need only fiber_options and
// fiber_limits; fiber.hh uses the rest.
//
// States of a fiber: new -> running -> waiting -> running -> ... -> ended. The carrier (a coroutine
// on the worker's stack) calls run(); the fiber calls suspend(). If a carrier is destroyed while
// its fiber waits, the fiber unwinds first.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "heddle/base/detail/kept_range.hh"
#include "heddle/core/awaitable.hh"
#include "heddle/core/promise.hh"
#include "heddle/fiber/detail/switch.hh"

namespace heddle {

/// Options of one fiber.
struct fiber_options {
  std::size_t stack_bytes = 0;  ///< 0: the size in fiber_limits
  bool hooks = false;           ///< blocking calls wait through the driver (target heddle_hook)
};

/// Limits for all fibers of a worker.
struct fiber_limits {
  std::size_t stack_bytes = std::size_t{256} << 10;  ///< memory is committed when it is touched
  std::size_t stack_bytes_max = std::size_t{64} << 20;
  std::size_t guard_bytes = std::size_t{64} << 10;  ///< below each stack; never accessible
  std::size_t fibers_max = 16384;  ///< at the same time; the kernel's default allows about 32000
  std::size_t stacks_kept = 1024;  ///< unused stacks kept for later fibers
  bool report_overflow = true;     ///< by a handler of SIGSEGV; else an overflow is a plain crash
};

/// Changes the limits of the running worker; existing stacks keep their size.
void limit_fibers(const fiber_limits& limits);

struct fiber_statistics {
  std::size_t running = 0;      ///< fibers begun on this worker that have not ended on any worker
  std::size_t stacks_kept = 0;  ///< unused stacks
  std::size_t stacks_made = 0;  ///< since the worker began
};
/// The statistics of the running worker.
[[nodiscard]] fiber_statistics read_fibers();

namespace detail {

class fiber_core;

/// Thrown through a fiber whose carrier was destroyed. Do not swallow it: catch (...) must rethrow.
struct fiber_unwind {};

/// One stack from the pool.
struct fiber_stack {
  kept_range memory;         ///< with the guard before it
  std::byte* low = nullptr;  ///< the first usable byte
  std::byte* top = nullptr;  ///< where a fiber's frames begin
  std::size_t bytes = 0;
  std::uint32_t class_index = 0;
  std::uint32_t valgrind_id = 0;
  fiber_stack* next = nullptr;           ///< in the pool's free list
  class fiber_stacks* lender = nullptr;  ///< the stacks of the worker where its fiber began
};

/// The exceptions that a stack is handling, and the number that it threw and that are not yet
/// caught. The C++ ABI keeps this state for each thread (Itanium C++ ABI, 2.2.2). Every switch
/// swaps it, so that a fiber may wait inside a catch block.
struct exception_state {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

/// A worker's data for fibers; the worker_part of room fiber begins with it.
struct fiber_place : worker_part {
  fiber_core* current = nullptr;
  exception_state* exceptions = nullptr;  ///< the thread's

  [[nodiscard]] bool on_own_stack() const noexcept final { return current != nullptr; }

  /// The running worker's data. A fiber may have begun on another worker, so this worker may have
  /// none yet.
  [[nodiscard]] static fiber_place& running() {
    worker& w = worker::running();
    if (w.fibers == nullptr) [[unlikely]]
      make(w);
    return static_cast<fiber_place&>(*w.fibers);
  }

 private:
  [[gnu::cold, gnu::noinline]] static void make(worker& w);
};

/// A carrier is suspended through this handle: awaiters see only the base of its promise.
using fiber_handle = std::coroutine_handle<promise_base>;

class fiber_core {
 public:
  using body_function = void (*)(fiber_core&) noexcept;

  fiber_core(const fiber_options& options, body_function body);
  ~fiber_core();
  fiber_core(const fiber_core&) = delete;
  fiber_core& operator=(const fiber_core&) = delete;

  // The functions that the carrier calls.

  /// Runs the fiber until it waits (false) or has ended (true).
  [[nodiscard, gnu::always_inline]] inline bool run() {
    fiber_place& place = fiber_place::running();
    fiber_core* const outer = std::exchange(place.current, this);
    const exception_state outside = std::exchange(*place.exceptions, exceptions_);
    nest_level* const level = std::exchange(worker::running().nesting, nesting_);
    started_ = true;
    if constexpr (announce_switches) announced_.leaving_host(stack_->low, stack_->bytes);
    context_ = switch_stack(context_, this);
    if constexpr (announce_switches) announced_.back_at_host();
    nesting_ = std::exchange(worker::running().nesting, level);
    exceptions_ = std::exchange(*place.exceptions, outside);
    place.current = outer;
    return ended_;
  }

  /// Tells the fiber its carrier; does not suspend.
  class carried_awaiter {
   public:
    explicit carried_awaiter(fiber_core& f) noexcept : fiber_(f) {}
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template <frame_promise P>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
      fiber_.carrier_ = h;
      return false;
    }
    static void await_resume() noexcept {}

   private:
    fiber_core& fiber_;
  };
  [[nodiscard]] carried_awaiter carried() noexcept { return carried_awaiter(*this); }

  /// Suspends the carrier; the fiber has already arranged the wake-up.
  class parked_awaiter {
   public:
    explicit parked_awaiter(fiber_core& f) noexcept : fiber_(f) {}
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    template <frame_promise P>
    [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<P> h) noexcept {
      static_cast<promise_base&>(h.promise()).at = fiber_.at_;  // the line in the fiber
      return fiber_.next_;
    }
    static void await_resume() noexcept {}

   private:
    fiber_core& fiber_;
  };
  [[nodiscard]] parked_awaiter parked() noexcept { return parked_awaiter(*this); }

  // The functions that the fiber calls.

  [[nodiscard]] static fiber_core* running_here() noexcept {
    worker* const w = worker::current();
    if (w == nullptr || w->fibers == nullptr) return nullptr;
    return static_cast<fiber_place&>(*w->fibers).current;
  }
  /// The running fiber. Asserts that there is one.
  [[nodiscard]] static fiber_core& here() noexcept {
    fiber_core* const f = running_here();
    if (f == nullptr) [[unlikely]]
      no_fiber();
    return *f;
  }

  /// Waits on an awaiter that was not ready. Its await_suspend() gets the carrier's handle, but is
  /// called here in the fiber. So an awaiter that completes at once costs no switch and may throw.
  template <class Awaiter>
  [[gnu::always_inline]] inline void suspend(Awaiter& a, site at) {
    if (unwinding_) [[unlikely]]
      unwind();
    at_ = at;
    promise_of(link_of(carrier_)).at = at;
    next_ = suspend_with(a, fiber_handle::from_address(carrier_.address()));
    if (next_ != carrier_) leave();
  }

  [[nodiscard]] bool hooks() const noexcept { return hooks_; }
  void set_hooks(bool on) noexcept { hooks_ = on; }
  [[nodiscard]] const fiber_stack& stack() const noexcept { return *stack_; }
  /// The line of the last wait; 0 before the first.
  [[nodiscard]] site at() const noexcept { return at_; }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void no_fiber() noexcept;
  [[noreturn, gnu::cold, gnu::noinline]] static void unwind();
  static void begin(void* self, void* host);

  /// Switches to the carrier; returns when the fiber runs again.
  [[gnu::always_inline]] inline void leave() {
    if constexpr (announce_switches) announced_.leaving_fiber(false);
    host_ = switch_stack(host_, this);
    if constexpr (announce_switches) announced_.at_fiber();
    if (unwinding_) [[unlikely]]
      unwind();
  }

  fiber_stack* stack_;
  void* context_ = nullptr;  ///< the fiber's registers while it waits
  void* host_ = nullptr;     ///< the carrier's registers while the fiber runs
  body_function body_;
  std::coroutine_handle<> carrier_;
  std::coroutine_handle<> next_;  ///< runs next when the carrier is suspended
  exception_state exceptions_;
  nest_level* nesting_ = nullptr;  ///< the nested trigger in which the fiber waits
  switch_announcer announced_;
  site at_ = 0;
  bool started_ = false;
  bool ended_ = false;
  bool unwinding_ = false;
  bool hooks_;
};

}  // namespace detail
}  // namespace heddle

// SPDX-License-Identifier: MIT
// What all fibers share: a stack, the two switches, and unwinding. Users name fiber_options and
// fiber_limits; the rest is fiber.hh's.
//
// States of a fiber: new -> running -> waiting -> running -> ... -> ended. run() belongs to the
// carrier (a coroutine on the worker's stack), suspend() to the fiber. A carrier that is destroyed
// while its fiber waits makes the fiber unwind first.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "heddle/core/awaitable.hh"
#include "heddle/core/promise.hh"
#include "heddle/fiber/switch.hh"

namespace heddle {

/// Of one fiber.
struct fiber_options {
  std::size_t stack_bytes = 0;  ///< 0: what fiber_limits says
  bool hooks = false;           ///< blocking calls wait by the driver (target heddle_hook)
};

/// Of all fibers of a worker.
struct fiber_limits {
  std::size_t stack_bytes = std::size_t{256} << 10;  ///< memory is used as it is touched
  std::size_t stack_bytes_max = std::size_t{64} << 20;
  std::size_t guard_bytes = std::size_t{64} << 10;  ///< below each stack; never accessible
  std::size_t fibers_max = 16384;  ///< at once; the kernel allows about 32000 by default
  std::size_t stacks_kept = 1024;  ///< unused stacks that stay for the next fibers
  bool report_overflow = true;     ///< by a handler of SIGSEGV; else it is a plain crash
};

/// Changes the limits of the running worker; stacks that exist keep their size.
void limit_fibers(const fiber_limits& limits);

struct fiber_statistics {
  std::size_t running = 0;      ///< fibers that began here and have not ended, anywhere
  std::size_t stacks_kept = 0;  ///< unused ones
  std::size_t stacks_made = 0;  ///< since the worker began
};
/// Of the running worker.
[[nodiscard]] fiber_statistics read_fibers();

namespace detail {

class fiber_core;

/// Thrown through a fiber whose carrier was destroyed. Let it pass: catch (...) must rethrow.
struct fiber_unwind {};

/// One stack, from the pool.
struct fiber_stack {
  std::byte* mapping = nullptr;  ///< the guard
  std::byte* low = nullptr;      ///< the first byte that may be used
  std::byte* top = nullptr;      ///< where a fiber begins
  std::size_t bytes = 0;
  std::uint32_t class_index = 0;
  std::uint32_t valgrind_id = 0;
  fiber_stack* next = nullptr;           ///< in the pool's list
  class fiber_stacks* lender = nullptr;  ///< of the worker where its fiber began
};

/// The exceptions that a stack is handling, and how many it threw that are not caught yet. The C++
/// ABI keeps these for each thread (Itanium C++ ABI, 2.2.2); every switch swaps them, so a fiber
/// may wait inside a catch block.
struct exception_state {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

/// What the worker keeps for fibers; room fiber's worker_part begins with it.
struct fiber_place : worker_part {
  fiber_core* current = nullptr;
  exception_state* exceptions = nullptr;  ///< the thread's

  /// The running worker's. A fiber may have begun on another worker, so this one may have none yet.
  [[nodiscard]] static fiber_place& running() {
    worker& w = worker::running();
    if (w.fibers == nullptr) [[unlikely]]
      make(w);
    return static_cast<fiber_place&>(*w.fibers);
  }

 private:
  [[gnu::cold, gnu::noinline]] static void make(worker& w);
};

/// Our carriers are suspended through this handle: what an awaiter sees of a promise is its base.
using fiber_handle = std::coroutine_handle<promise_base>;

class fiber_core {
 public:
  using body_function = void (*)(fiber_core&) noexcept;

  fiber_core(const fiber_options& options, body_function body);
  ~fiber_core();
  fiber_core(const fiber_core&) = delete;
  fiber_core& operator=(const fiber_core&) = delete;

  // The carrier's half.

  /// Runs the fiber until it waits (false) or has ended (true).
  [[nodiscard, gnu::always_inline]] inline bool run() {
    fiber_place& place = fiber_place::running();
    fiber_core* const outer = std::exchange(place.current, this);
    const exception_state outside = std::exchange(*place.exceptions, exceptions_);
    started_ = true;
    if constexpr (announce_switches) announced_.leaving_host(stack_->low, stack_->bytes);
    context_ = switch_stack(context_, this);
    if constexpr (announce_switches) announced_.back_at_host();
    exceptions_ = std::exchange(*place.exceptions, outside);
    place.current = outer;
    return ended_;
  }

  /// Tells the fiber who carries it; does not suspend.
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

  /// Suspends the carrier where its fiber has arranged to be woken.
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

  // The fiber's half.

  [[nodiscard]] static fiber_core* running_here() noexcept {
    worker* const w = worker::current();
    if (w == nullptr || w->fibers == nullptr) return nullptr;
    return static_cast<fiber_place&>(*w->fibers).current;
  }
  /// The fiber that runs. Asserts that there is one.
  [[nodiscard]] static fiber_core& here() noexcept {
    fiber_core* const f = running_here();
    if (f == nullptr) [[unlikely]]
      no_fiber();
    return *f;
  }

  /// Waits on an awaiter that was not ready. The awaiter is told to resume the carrier; that is
  /// done from here, so an awaiter that answers at once costs no switch and may throw.
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
  /// The line at which it waited last, 0 before the first.
  [[nodiscard]] site at() const noexcept { return at_; }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] static void no_fiber() noexcept;
  [[noreturn, gnu::cold, gnu::noinline]] static void unwind();
  static void begin(void* self, void* host);

  /// Switches to the carrier; returns when the fiber is run again.
  [[gnu::always_inline]] inline void leave() {
    if constexpr (announce_switches) announced_.leaving_fiber(false);
    host_ = switch_stack(host_, this);
    if constexpr (announce_switches) announced_.at_fiber();
    if (unwinding_) [[unlikely]]
      unwind();
  }

  fiber_stack* stack_;
  void* context_ = nullptr;  ///< the fiber's registers while it waits
  void* host_ = nullptr;     ///< the carrier's while the fiber runs
  body_function body_;
  std::coroutine_handle<> carrier_;
  std::coroutine_handle<> next_;  ///< what goes on when the carrier is suspended
  exception_state exceptions_;
  switch_announcer announced_;
  site at_ = 0;
  bool started_ = false;
  bool ended_ = false;
  bool unwinding_ = false;
  bool hooks_;
};

}  // namespace detail
}  // namespace heddle

// SPDX-License-Identifier: MIT
// The worker as the core sees it: the queue of frames that are ready, the context of the running
// frame, memory, and the few calls that a scheduler answers (room sched implements them). Each
// thread that runs a worker points to it by a thread-local variable.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "heddle/base/clock.hh"
#include "heddle/base/detail/relaxed_count.hh"
#include "heddle/base/slab.hh"
#include "heddle/core/frame.hh"
#include "heddle/core/report.hh"
#include "heddle/core/timer.hh"

namespace heddle {

class context;
class driver;
class scope;
class worker;
struct slot_guards;
namespace detail {
struct nest_level;
}

/// The value of worker::color while no color runs.
inline constexpr std::uint32_t no_color = ~std::uint32_t{0};

extern "C" {
extern __thread worker* heddle_current_worker;
}

/// A higher room's data of each worker: made at its first use, freed with the worker.
struct worker_part {
  worker_part() noexcept = default;
  worker_part(const worker_part&) = delete;
  worker_part& operator=(const worker_part&) = delete;
  virtual ~worker_part() = default;
  /// Whether the running code has a stack of its own, apart from the thread's.
  [[nodiscard]] virtual bool on_own_stack() const noexcept { return false; }
};

/// Orders the frames of the running color by other rules than the order of their wake-ups. While
/// frames run, it may keep some that are ready.
struct ready_order {
  ready_order() noexcept = default;
  ready_order(const ready_order&) = delete;
  ready_order& operator=(const ready_order&) = delete;
  virtual ~ready_order() = default;
  /// Puts all kept frames back into the queue.
  virtual void settle(ready_queue& ready) noexcept = 0;
};

/// The core's interface to a scheduler.
class scheduler {
 public:
  /// Calls the node's function at `due`, in order of time, ties in order of arming, in the color
  /// that runs now.
  virtual void arm(worker& w, timer_node& node, time_point due) noexcept = 0;
  /// As arm(), for a span that counts from now at the earliest: never short, because the scheduler
  /// counts it from one reading of the clock before the next poll, for all spans of a turn.
  virtual void arm_after(worker& w, timer_node& node, nanoseconds span) noexcept;
  /// Disarms a node that another worker may be looking at. With one worker there is no such node.
  virtual void disarm_shared(timer_node& node) noexcept;
  /// Queues a frame in another color than the one that runs. A scheduler without colors
  /// queues it as any other. Thread: any worker's.
  virtual void post(worker& w, std::uint32_t place, link l) noexcept;
  /// A fresh reading of the driver's clock.
  [[nodiscard]] virtual time_point read_clock() noexcept = 0;
  virtual void report(const diagnostic& d) noexcept = 0;
  /// The scope of the running color's tasks without an owner.
  [[nodiscard]] virtual scope& root() noexcept = 0;

 protected:
  ~scheduler() = default;
};

/// A worker's note of a context: the whole address, because nearly every wait looks at the context
/// of the frame that runs. Frames save its low half.
class context_note {
 public:
  explicit context_note(std::uintptr_t base) noexcept : address_(base) {}
  context_note(const context_note&) noexcept = default;
  context_note& operator=(const context_note&) noexcept = default;
  context_note& operator=(context& c) noexcept {
    address_ = reinterpret_cast<std::uintptr_t>(&c);
    return *this;
  }
  /// The low half of the address.
  operator std::uint32_t() const noexcept { return static_cast<std::uint32_t>(address_); }
  [[nodiscard]] std::uintptr_t address() const noexcept { return address_; }

 private:
  std::uintptr_t address_;
};

/// Thread: only the thread that runs it, unless a member says otherwise.
class worker {
 public:
  worker(region& memory_region, scheduler& owner) noexcept
      : context_now(memory_region.base()),
        root_context(memory_region.base()),
        context_base_(memory_region.base()),
        sched(owner),
        memory(memory_region) {}
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;

  /// The worker of this thread, or null. Each call reads it again: a frame may resume elsewhere,
  /// and a compiler must not keep the thread-local's address over a suspension.
  [[nodiscard]] static worker* current() noexcept {
#if defined(__x86_64__) && defined(__clang__) && !defined(HEDDLE_PLAIN_TLS)
    // The variable has the same distance from fs in every thread. To Clang this is a plain load; a
    // volatile asm would be a barrier between all stores and loads around it.
    using of_this_thread = worker* __attribute__((address_space(257)));
    std::uintptr_t distance;
    asm("movq heddle_current_worker@gottpoff(%%rip), %0" : "=r"(distance));
    return *reinterpret_cast<of_this_thread*>(distance);
#elif defined(__x86_64__) && !defined(HEDDLE_PLAIN_TLS)
    worker* w;
    asm volatile("movq heddle_current_worker@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(w));
    return w;
#else
    return current_slow();
#endif
  }
  /// The worker of this thread. Asserts that there is one.
  [[nodiscard]] static worker& here() noexcept {
    worker* w = current();
    if (w == nullptr) [[unlikely]]
      no_worker();
    return *w;
  }

  /// As here(), for callers inside a running frame: there the thread has a worker.
  [[nodiscard]] static worker& running() noexcept { return *current(); }

  /// The queue with all frames of the running color that are ready, for code that looks for one.
  [[nodiscard]] ready_queue& all_ready() noexcept {
    if (order != nullptr) [[unlikely]]
      order->settle(ready);
    return ready;
  }
  /// Queues a frame of the running color behind all that are ready.
  void post(link l) noexcept { ready.push(l); }
  /// Queues a frame in a color, named by its place in the table of colors.
  void post_to(std::uint32_t place, link l) noexcept {
    if (place == color) {
      ready.push(l);
    } else {
      sched.post(*this, place, l);
    }
  }
  /// A color's place in the table; two colors with one place count as one.
  [[nodiscard]] std::uint32_t place_of(std::uint64_t number) const noexcept {
    if (number <= color_mask) return static_cast<std::uint32_t>(number);
    return static_cast<std::uint32_t>((number * 0x9e3779b97f4a7c15) >> 40) & color_mask;
  }
  [[nodiscard]] bool reports(diagnostic_kind kind) const noexcept {
    return diagnostics != nullptr && (*diagnostics)[kind] != strictness::off;
  }
  /// Whether this worker has no ready frame in any color.
  [[nodiscard]] bool idle() const noexcept { return ready.empty() && !colors_wait; }

  /// Runs at most `limit` of the frames that are ready; returns how many ran.
  std::size_t run_ready(std::size_t limit) noexcept;
  /// As above, and stores before each frame the line at which it goes on, or 0.
  std::size_t run_ready(std::size_t limit, std::atomic<site>& went_on_at) noexcept;

  [[nodiscard]] context& context_at(std::uint32_t low) const noexcept {
    return *reinterpret_cast<context*>(context_base_ | low);
  }
  [[nodiscard]] context& current_context() const noexcept {
    return *reinterpret_cast<context*>(context_now.address());
  }

  // Touched by every frame: one cache line.
  ready_queue ready;
  context_note context_now;  ///< the context of the running frame
  // root_context, color, root_scope and foreign_slots change with the running color.
  context_note root_context;          ///< the context of tasks without an owner and of plain frames
  std::uint32_t color = 0;            ///< the running color's place in the table, or no_color
  std::uint32_t color_mask = 0xffff;  ///< the number of places in that table, less one
  scope* root_scope = nullptr;
  std::size_t foreign_slots = 0;  ///< events whose slot lies in another frame than their rendezvous

 private:
  std::uintptr_t context_base_;

 public:
  ready_order* order = nullptr;   ///< room sched's, if the runtime has a task policy
  slot_guards* guards = nullptr;  ///< the running color's foreign slots
  std::uint32_t index = 0;        ///< this worker's number
  bool colors_wait = false;       ///< other colors of this worker have work
  std::uint16_t transfers = 0;    ///< with GCC: transfers since the loop made one
  driver* io = nullptr;           ///< the driver, for room sched
  time_point now{};               ///< when this turn began: a span is counted from a reading of
                                  ///< the clock, or by scheduler::arm_after(), never from this
  scheduler& sched;
  const diagnostic_switches* diagnostics = nullptr;  ///< the runtime's; null: all are off
  relaxed_count frames_run;                          ///< any thread may read it
  slabs memory;
  detail::nest_level* nesting = nullptr;  ///< the nested calls of the running trigger, or null
  /// Where the thread's stack was when the worker began to run frames; null while it does not.
  const void* stack_top = nullptr;
  std::uint64_t stack_slots = 0;              ///< how many slots on stacks were noted; numbers them
  std::unique_ptr<worker_part> fibers;        ///< room fiber's: stacks, and which fiber runs
  std::unique_ptr<worker_part> threads;       ///< room abi's: budget, the line that is logged
  std::unique_ptr<worker_part> transactions;  ///< room sync's: seen commits of others
  std::unique_ptr<worker_part> tcp;           ///< room io's, in the first worker: the tcp_source

 private:
  void run_coroutine(link l) noexcept;
  [[gnu::noinline]] void adopt(link l) noexcept;
  [[gnu::always_inline]] void run_plain(link l) noexcept;
  [[gnu::always_inline]] void enter_context_of(const frame& f) noexcept;
  /// Runs a frame that the one before handed over to.
  [[gnu::noinline]] void run_next(link l) noexcept;
  [[nodiscard, gnu::noinline]] static worker* current_slow() noexcept;
  [[noreturn, gnu::cold, gnu::noinline]] static void no_worker() noexcept;
};

}  // namespace heddle

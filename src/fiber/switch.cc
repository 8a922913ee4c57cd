// SPDX-License-Identifier: MIT
// The two switches of a fiber, on Boost.Context: run() from the carrier to the fiber, leave() from
// the fiber to the carrier. Each tells the sanitizers whose stack runs, and swaps the thread's list
// of exceptions that are being handled, which belongs to a stack, not to a thread: so a fiber may
// wait inside a catch block.
#include <cxxabi.h>

#include <boost/context/detail/fcontext.hpp>

#include "heddle/base/sanitizer.hh"
#include "stacks.hh"

#if HEDDLE_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#if HEDDLE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace heddle::detail {

namespace context = boost::context::detail;

namespace {

/// What the C++ ABI keeps for each thread: the exceptions that are being handled, and how many were
/// thrown and not yet caught (Itanium C++ ABI, 2.2.2).
struct eh_state {
  void* caught;
  unsigned uncaught;
};

eh_state& eh_here(fiber_stacks& place) noexcept {
  if (place.eh_globals == nullptr) place.eh_globals = static_cast<void*>(abi::__cxa_get_globals());
  return *static_cast<eh_state*>(place.eh_globals);
}

fiber_stacks& stacks_of(worker& w) noexcept { return static_cast<fiber_stacks&>(*w.fibers); }

}  // namespace

/// The entry of a fiber's stack, and what sanitizers want to know.
struct fiber_switch {
  static void enter(context::transfer_t from) noexcept {
    auto& self = *static_cast<fiber_core*>(from.data);
    self.host_ = from.fctx;
    arrived(self);
    self.body_(self);
    self.ended_ = true;
#if HEDDLE_ASAN
    __sanitizer_start_switch_fiber(nullptr, self.announced_.host_low, self.announced_.host_bytes);
#endif
#if HEDDLE_TSAN
    __tsan_switch_to_fiber(self.announced_.host, 0);
#endif
    context::jump_fcontext(self.host_, nullptr);
    __builtin_unreachable();
  }

  static void leaving_host([[maybe_unused]] fiber_core& self) noexcept {
#if HEDDLE_ASAN
    __sanitizer_start_switch_fiber(&self.announced_.host, self.stack_->low, self.stack_->bytes);
#endif
#if HEDDLE_TSAN
    if (self.announced_.own == nullptr) self.announced_.own = __tsan_create_fiber(0);
    self.announced_.host = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(self.announced_.own, 0);
#endif
  }
  static void back_at_host([[maybe_unused]] fiber_core& self) noexcept {
#if HEDDLE_ASAN
    __sanitizer_finish_switch_fiber(self.announced_.host, nullptr, nullptr);
#endif
  }
  static void leaving_fiber([[maybe_unused]] fiber_core& self) noexcept {
#if HEDDLE_ASAN
    __sanitizer_start_switch_fiber(&self.announced_.own, self.announced_.host_low,
                                   self.announced_.host_bytes);
#endif
#if HEDDLE_TSAN
    __tsan_switch_to_fiber(self.announced_.host, 0);
#endif
  }
  static void arrived([[maybe_unused]] fiber_core& self) noexcept {
#if HEDDLE_ASAN
    __sanitizer_finish_switch_fiber(self.announced_.own, &self.announced_.host_low,
                                    &self.announced_.host_bytes);
#endif
  }
};

fiber_core::fiber_core(const fiber_options& options, body_function body)
    : stack_(&fiber_stacks::here().take(options.stack_bytes)), body_(body), hooks_(options.hooks) {
  context_ = context::make_fcontext(
      stack_->top, static_cast<std::size_t>(stack_->top - stack_->low), &fiber_switch::enter);
}

fiber_core::~fiber_core() {
  if (started_ && !ended_) {
    unwinding_ = true;
    const bool ended = run();
    HEDDLE_ASSERT(ended,
                  "a fiber waits although its carrier is gone: let fiber_unwind pass, and do "
                  "not wait in destructors");
  }
#if HEDDLE_TSAN
  if (announced_.own != nullptr) __tsan_destroy_fiber(announced_.own);
#endif
  stacks_of(worker::running()).give_back(*stack_);
}

bool fiber_core::run() {
  fiber_stacks& place = stacks_of(worker::running());
  outer_ = place.current;
  place.current = this;
  started_ = true;
  eh_state& eh = eh_here(place);
  const eh_state outside = eh;
  eh = {eh_caught_, static_cast<unsigned>(eh_uncaught_)};
  fiber_switch::leaving_host(*this);
  context_ = context::jump_fcontext(context_, this).fctx;
  fiber_switch::back_at_host(*this);
  eh_caught_ = eh.caught;
  eh_uncaught_ = eh.uncaught;
  eh = outside;
  place.current = outer_;
  return ended_;
}

void fiber_core::leave() {
  fiber_switch::leaving_fiber(*this);
  host_ = context::jump_fcontext(host_, this).fctx;
  fiber_switch::arrived(*this);
  if (unwinding_) [[unlikely]]
    throw fiber_unwind();
}

void fiber_core::no_fiber() noexcept {
  assertion_failed("await() is called in a fiber",
                   "call it from a function that runs in fiber(f, ...); in a task write co_await",
                   "fiber", 0);
}

}  // namespace heddle::detail

// SPDX-License-Identifier: MIT
// The beginning and the end of a fiber.
#include "heddle/fiber/detail/core.hh"

#include "fiber/stacks.hh"

/// Defined by room hook; null if the program does not link it.
extern "C" [[gnu::weak]] int heddle_hook_transfer;

namespace heddle::detail {
namespace {

/// Rejects a request for hooks that are not linked: blocking calls would silently block the worker.
const fiber_options& checked(const fiber_options& options) {
  if (options.hooks && &heddle_hook_transfer == nullptr)
    throw failure(std::make_error_code(std::errc::operation_not_supported),
                  "a fiber asks for hooks (fiber_options::hooks), and this program has none: link "
                  "the target heddle::hook");
  return options;
}

}  // namespace

fiber_core::fiber_core(const fiber_options& options, body_function body)
    : stack_(&fiber_stacks::here().take(checked(options).stack_bytes)),
      body_(body),
      hooks_(options.hooks) {
  context_ =
      prepare_stack(stack_->top, static_cast<std::size_t>(stack_->top - stack_->low), &begin);
}

fiber_core::~fiber_core() {
  if (started_ && !ended_) [[unlikely]] {
    unwinding_ = true;
    const bool ended = run();
    HEDDLE_ASSERT(ended,
                  "a fiber waits although its carrier is gone: let fiber_unwind pass, and do "
                  "not wait in destructors");
  }
  if constexpr (announce_switches) announced_.gone();
  fiber_stacks::here().give_back(*stack_);
}

void fiber_core::begin(void* self_address, void* host) {
  auto& self = *static_cast<fiber_core*>(self_address);
  if constexpr (announce_switches) self.announced_.at_fiber();
  self.host_ = host;
  self.body_(self);
  self.ended_ = true;
  if constexpr (announce_switches) self.announced_.leaving_fiber(true);
  switch_stack(self.host_, &self);
  __builtin_unreachable();
}

void fiber_core::unwind() { throw fiber_unwind(); }

void fiber_core::no_fiber() noexcept {
  assertion_failed("await() is called in a fiber",
                   "call it from a function that runs in fiber(f, ...); in a task write co_await",
                   "fiber", 0);
}

}  // namespace heddle::detail

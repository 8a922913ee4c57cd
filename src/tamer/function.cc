// SPDX-License-Identifier: MIT
// How tamed functions end: by themselves, with an object, or with an exception.
#include "tamer/function.hh"

#include "heddle/base/error.hh"
#include "tamer/loop_state.hh"

namespace heddle::tame {
namespace {

/// The join that every tamed function reports to. It has no state: errors go another way.
struct tamed_owner : join {
  tamed_owner() noexcept : join(&ended) {}
  static std::coroutine_handle<> ended(join&, worker& w) noexcept { return w.root_scope->leave(w); }
};
tamed_owner all_functions;

}  // namespace

join& promise::owner() noexcept { return all_functions; }

void promise::leave_root(worker& w) noexcept {
  if (const std::coroutine_handle<> next = w.root_scope->leave(w)) w.post(link_of(next));
}

void promise::destroy(link l) noexcept {
  worker& w = worker::running();
  const context_note running_in = w.context_now;
  w.context_now = w.root_context;
  std::coroutine_handle<>::from_address(reinterpret_cast<void*>(l)).destroy();
  w.context_now = running_in;
  leave_root(w);
}

void promise::failed() noexcept { function_failed(at); }

void function_failed(site at) noexcept {
  worker& w = worker::running();
  std::exception_ptr error = std::current_exception();
  if (w.root_scope->canceled() && heddle::detail::is_cancellation(error)) return;  // the end
  if (loop_failed(error)) return;
  w.sched.report({diagnostic_kind::unhandled_exception, at, 0, 1, std::move(error), {}});
}

void tamed_class::end_functions() noexcept {
  while (member_link* const f = functions_.pop_front()) {
    // A running function has done `delete this`, or called one that did: it goes on to its end.
    if (static_cast<promise&>(promise_of(f->frame)).waits()) promise::destroy(f->frame);
  }
}

destroy_guard::destroy_guard(const tamed_class& object) {
  worker& w = worker::here();
  void* const frame = w.memory.cell_of(this);
  HEDDLE_ASSERT(frame != nullptr, "a destroy_guard is a variable of a tamed function that waits");
  link_.frame = link_of(std::coroutine_handle<>::from_address(frame));
  if (promise::is_ours(link_.frame)) {
    object.functions_.push_back(link_);
  } else {
    native_.emplace(static_cast<const heddle::tamed_class&>(object));
  }
}

}  // namespace heddle::tame

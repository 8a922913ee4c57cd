// SPDX-License-Identifier: MIT
// tamed: a function as in Tame (Krohn and others, 2007). It starts at the call, runs to its first
// wait before the caller goes on, and owns itself; it gives its results to events that it was
// given.
//
//   tamed fetch(std::string name, event<address> done) {
//     address a; twait { resolve(name, mkevent(a)); }
//     done(a);
//   }
#pragma once

#include <exception>
#include <utility>

#include "heddle/core/detail/tamed_call.hh"
#include "heddle/core/promise.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/task.hh"

namespace heddle {

/// The result of a tamed function; nearly always dropped. The function runs in the root scope's
/// context.
///
/// Fails: an exception that leaves it goes to the runtime's handler, or to start()'s event.
class tamed {
 public:
  struct promise_type;
  class ramp;

  tamed(const tamed&) = delete;
  tamed& operator=(const tamed&) = delete;
  /// Lets the function go on by itself.
  ~tamed();

  /// Whether the function has ended.
  [[nodiscard]] bool done() const noexcept { return call_.ended; }

 private:
  friend class starter;
  using call = detail::tamed_call;
  explicit tamed(call& from) noexcept;
  /// Hands the rest of the run to `owner`; false when the function has ended.
  [[nodiscard]] bool give_to(join& owner) noexcept;

  call call_;
};

/// Kept by the compiler while the function makes its first run; it puts the caller's context
/// back.
class tamed::ramp {
 public:
  explicit ramp(promise_type& p) noexcept;
  ramp(const ramp&) = delete;
  ramp& operator=(const ramp&) = delete;
  ~ramp() { worker::running().context_now = outer_; }
  operator tamed() noexcept { return tamed(call_); }  // after the first run, on both compilers

 private:
  call call_;
  context_note outer_;
};

struct tamed::promise_type : detail::task_promise_base {
  [[nodiscard]] ramp get_return_object() noexcept { return ramp(*this); }
  [[nodiscard]] static std::suspend_never initial_suspend() noexcept { return {}; }
  [[nodiscard]] static detail::final_awaiter final_suspend() noexcept { return {}; }
  [[gnu::always_inline]] void return_void() noexcept { end_of_function(); }
  [[gnu::cold, gnu::noinline]] void unhandled_exception() noexcept {
    end_of_failed_function();
    note_failure();
  }

 protected:
  void note_failure() noexcept {
    detail::note_exception(*this);
    parent()->error = std::current_exception();
  }
};

inline tamed::ramp::ramp(promise_type& p) noexcept : outer_(worker::running().context_now) {
  worker& w = worker::running();
  w.context_now = w.root_context;
  p.set_parent(call_);
  call_.running = &p;
  call_.slots_before = w.stack_slots;
}

inline tamed::tamed(call& from) noexcept {
  call_.ended = from.ended;
  call_.error = std::move(from.error);
  if (!call_.ended) {
    call_.running = from.running;
    call_.running->set_parent(call_);
  }
}

inline bool tamed::give_to(join& owner) noexcept {
  if (call_.ended) {
    owner.error = std::exchange(call_.error, nullptr);
    return false;
  }
  if (call_.running != nullptr) std::exchange(call_.running, nullptr)->set_parent(owner);
  return true;
}

inline tamed::~tamed() {
  if (call_.ended && !call_.error) return;
  if (!call_.ended && call_.running == nullptr) return;  // given to a joiner
  worker* const here = worker::current();
  if (here == nullptr || here->root_scope == nullptr) [[unlikely]]
    return;  // the runtime has ended, and the function with it
  worker& w = *here;
  scope& root = w.sched.root();
  root.enter();
  if (!give_to(root.owner())) root.owner().done(root.owner(), w);  // the root has no joiner
}

}  // namespace heddle

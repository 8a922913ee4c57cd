// SPDX-License-Identifier: MIT
// The trampoline: takes frames from the ready queue and resumes each by its kind, in its context.
#include "heddle/core/detail/plain_wait.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/worker.hh"

namespace heddle {
namespace {

[[gnu::noinline]] site line_behind(link thread) noexcept {
  const link l = detail::coroutine_behind(thread);
  return is_plain(l) ? 0 : promise_of(l).at;
}

/// The line where a frame goes on, or 0. Messages are plain frames and no threads: they cost one
/// test.
inline site line_of(link l) noexcept {
  if (!is_plain(l)) [[likely]]
    return promise_of(l).at;
  return (plain_of(l).at & HEDDLE_AT_THREAD) != 0 ? line_behind(l) : 0;
}

}  // namespace

/// Gives a task that came from another color, and has no context yet, to this color's root.
void worker::adopt(link l) noexcept {
  promise_of(l).set_parent(root_scope->owner());
  promise_of(l).context_low = root_context;
  root_scope->enter();
}

inline void worker::run_coroutine(link l) noexcept {
  if (context_now != promise_of(l).context_low) {
    if (promise_of(l).context_low == 0) [[unlikely]]
      adopt(l);
    context_now = context_at(promise_of(l).context_low);
  }
  std::coroutine_handle<>::from_address(reinterpret_cast<void*>(l)).resume();
}

/// Enters the frame's context. A thread of compiled code goes on where it waited; other plain
/// frames run in the color's root.
inline void worker::enter_context_of(const frame& f) noexcept {
  if ((f.at & HEDDLE_AT_THREAD) != 0 && f.context != 0) [[unlikely]] {
    context_now = context_at(f.context);
  } else {
    context_now = root_context;
  }
}

inline void worker::run_plain(link l) noexcept {
  frame& f = plain_of(l);
  f.at &= ~std::uint32_t{HEDDLE_AT_QUEUED};
  enter_context_of(f);
  const link next = f.resume(&f, reinterpret_cast<heddle_worker*>(this));
  if (next != no_link) [[unlikely]]
    run_next(next);
}

void worker::run_next(link l) noexcept {
  // A frame that is queued runs when its turn comes, not twice.
  while (is_plain(l)) {
    frame& f = plain_of(l);
    if ((f.at & HEDDLE_AT_QUEUED) != 0) return;
    enter_context_of(f);
    l = f.resume(&f, reinterpret_cast<heddle_worker*>(this));
    if (l == no_link) return;
  }
  run_coroutine(l);
}

std::size_t worker::run_ready(std::size_t limit) noexcept {
  const std::size_t ran = ready.run_each(limit, [this](link l) noexcept {
    if (is_plain(l)) [[unlikely]] {
      run_plain(l);
    } else {
      run_coroutine(l);
    }
  });
  frames_run += ran;
  return ran;
}

std::size_t worker::run_ready(std::size_t limit, std::atomic<site>& went_on_at) noexcept {
  const std::size_t ran = ready.run_each(limit, [&](link l) noexcept {
    went_on_at.store(line_of(l), std::memory_order_relaxed);
    if (is_plain(l)) [[unlikely]] {
      run_plain(l);
    } else {
      run_coroutine(l);
    }
  });
  frames_run += ran;
  return ran;
}

}  // namespace heddle

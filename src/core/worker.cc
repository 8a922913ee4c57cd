// SPDX-License-Identifier: MIT
// The trampoline: takes frames from the ready queue and resumes each by its kind.
#include "heddle/core/worker.hh"

#include "heddle/core/scope.hh"

namespace heddle {

extern "C" {
// worker::current() names it in assembly, which link-time optimization does not see.
[[gnu::used]] __thread worker* heddle_current_worker = nullptr;
}

worker* worker::current_slow() noexcept { return heddle_current_worker; }

void worker::no_worker() noexcept {
  detail::assertion_failed("there is a runtime on this thread",
                           "build a heddle::runtime first, and use tasks and events only on the "
                           "thread that runs it",
                           "worker", 0);
}

void scheduler::disarm_shared(timer_node&) noexcept {}
void scheduler::post(worker& w, std::uint32_t, link l) noexcept { w.post(l); }

/// A task that came from another color and has no context yet: it belongs to this color's root.
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

void worker::run_plain(link l) noexcept {
  do {
    frame& f = plain_of(l);
    f.at &= ~std::uint32_t{HEDDLE_AT_QUEUED};
    context_now = root_context;
    l = f.resume(&f, reinterpret_cast<heddle_worker*>(this));
    if (l == no_link) return;
    // A hand-over to a frame that is queued: it runs when its turn comes, not twice.
    if (is_plain(l) && (plain_of(l).at & HEDDLE_AT_QUEUED) != 0) return;
  } while (is_plain(l));
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

time_point clock::now() noexcept {
  if (worker* w = worker::current()) return w->now;
  return time_point(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace heddle

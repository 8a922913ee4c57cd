// SPDX-License-Identifier: MIT
// The pointer to the thread's worker, and its clock. How a worker runs frames is
// in core/trampoline.cc.
#include "heddle/core/worker.hh"

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

void scheduler::arm_after(worker& w, timer_node& node, nanoseconds span) noexcept {
  arm(w, node, add_saturated(read_clock(), span));
}
void scheduler::disarm_shared(timer_node&) noexcept {}
void scheduler::post(worker& w, std::uint32_t, link l) noexcept { w.post(l); }

time_point clock::now() noexcept {
  if (worker* w = worker::current()) return w->sched.read_clock();
  return time_point(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace heddle

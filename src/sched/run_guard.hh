// SPDX-License-Identifier: MIT
// One call that turns the loop of a runtime: run(), once() or drain(). A second one inside it, by a
// task or a posted call, breaks a rule.
#pragma once

#include "heddle/sched/runtime.hh"
#include "sched/runtime_parts.hh"

namespace heddle {

/// Marks a thread that runs a runtime; notes where the thread's stack is meanwhile, for dumps.
class runtime::run_guard {
 public:
  run_guard(runtime& rt, const void* top, const char* what) noexcept : rt_(rt) {
    rt.check_use(what);
    outer_ = note(top);
    rt.turns_ = true;
  }
  run_guard(const run_guard&) = delete;
  run_guard& operator=(const run_guard&) = delete;
  ~run_guard() {
    rt_.turns_ = false;
    note(outer_);
  }

 private:
  const void* note(const void* top) noexcept {
    const void* const before = rt_.main_worker().stack_top;
    for (const auto& s : rt_.parts_->workers.seats) {
      s->w.stack_top = top;
      if (!rt_.parts_->workers.simulated) break;  // the others have threads of their own
    }
    return before;
  }
  runtime& rt_;
  const void* outer_;
};

}  // namespace heddle

// SPDX-License-Identifier: MIT
// The substitute worker for events that are dropped after their runtime has ended.
#include "heddle/core/detail/late_drop.hh"

#include <utility>

#include "heddle/base/error.hh"

namespace heddle::detail {

struct late_drop::stand_in {
  struct silent_scheduler final : scheduler {
    void arm(worker&, timer_node&, time_point) noexcept override {}
    time_point read_clock() noexcept override { return {}; }
    void report(const diagnostic&) noexcept override {}
    scope& root() noexcept override {
      assertion_failed("nothing is started after its runtime has ended",
                       "end what uses tasks and events before the runtime goes", "late drop", 0);
    }
  };
  region nothing;
  silent_scheduler silent;
  worker w{nothing, silent};
};

late_drop::late_drop(std::uint32_t color)
    : stand_in_(std::make_unique<stand_in>()),
      outer_(std::exchange(heddle_current_worker, &stand_in_->w)) {
  stand_in_->w.color = color;
}

late_drop::~late_drop() {
  stand_in_->w.memory.collect_remote();  // sends home the cells of a runtime that still lives
  heddle_current_worker = outer_;
}

void destroy_unstarted(std::coroutine_handle<> h) noexcept {
  if (worker::current() != nullptr) return h.destroy();
  const late_drop no_runtime;
  h.destroy();
}

void release_cell(void* cell, std::size_t bytes) noexcept {
  if (worker* const w = worker::current()) {
    w->memory.release(cell, bytes);
  } else {
    slabs::release_elsewhere(cell, bytes);
  }
}

}  // namespace heddle::detail

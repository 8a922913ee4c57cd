// SPDX-License-Identifier: MIT
// The current worker of the thread, which the world sets before it runs code of a program.
#pragma once

#include <utility>

#include "heddle/core/worker.hh"

namespace heddle::sim {

/// Makes a worker the current one of this thread: nodes take turns and end in any order, and a
/// runtime by itself expects that those of a thread end in the opposite order of their
/// construction.
class current_worker {
 public:
  explicit current_worker(worker* w) noexcept : before_(std::exchange(heddle_current_worker, w)) {}
  current_worker(const current_worker&) = delete;
  current_worker& operator=(const current_worker&) = delete;
  ~current_worker() { heddle_current_worker = before_; }

 private:
  worker* before_;
};

}  // namespace heddle::sim

// SPDX-License-Identifier: MIT
// Dropping objects that outlived their runtime: tasks that never started, events, rendezvous. Their
// memory stays mapped, and their destructors find a worker that owns nothing, runs nothing and
// reports nothing.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>

#include "heddle/core/worker.hh"

namespace heddle::detail {

/// While this lives, the thread's worker is one that does nothing, in the color at this place.
class late_drop {
 public:
  explicit late_drop(std::uint32_t color = 0);
  late_drop(const late_drop&) = delete;
  late_drop& operator=(const late_drop&) = delete;
  ~late_drop();

 private:
  struct stand_in;
  std::unique_ptr<stand_in> stand_in_;
  worker* outer_;
};

/// Destroys a frame that has not started, perhaps after its runtime.
[[gnu::cold, gnu::noinline]] void destroy_unstarted(std::coroutine_handle<> h) noexcept;

/// Frees a cell of the slabs, on any thread, also after their runtime.
void release_cell(void* cell, std::size_t bytes) noexcept;

}  // namespace heddle::detail

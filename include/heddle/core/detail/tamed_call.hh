// SPDX-License-Identifier: MIT
// The join of a tamed function whose return value the caller still holds. It tells whether a join
// is such a one, and which slots on the stack may be the function's.
#pragma once

#include <coroutine>
#include <cstdint>

#include "heddle/core/detail/join.hh"

namespace heddle::detail {

struct tamed_call : join {
  tamed_call() noexcept : join(&note_end) {}
  static std::coroutine_handle<> note_end(join& j, worker&) noexcept {
    static_cast<tamed_call&>(j).ended = true;
    return {};
  }
  [[nodiscard]] static bool is(const join& j) noexcept { return j.done == &note_end; }

  promise_base* running = nullptr;  ///< null after another join took over the rest of the run
  bool ended = false;
  std::uint64_t slots_before = 0;  ///< noted when its first run began
};

/// The number of the first slot on a stack that may be this function's: see slot_guard.hh.
[[nodiscard]] inline std::uint64_t stack_slots_before(const join& j) noexcept {
  return tamed_call::is(j) ? static_cast<const tamed_call&>(j).slots_before : 0;
}

}  // namespace heddle::detail

// SPDX-License-Identifier: MIT
// A worker's pool of stacks: mapped with a guard below each, and reused while they are warm. The
// record of a stack is outside of it, so that an overflow cannot damage it.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "heddle/fiber/detail/core.hh"

namespace heddle::detail {

/// Reports stack overflows on this thread during its lifetime.
class overflow_watch {
 public:
  overflow_watch();
  ~overflow_watch();
  overflow_watch(const overflow_watch&) = delete;
  overflow_watch& operator=(const overflow_watch&) = delete;

 private:
  std::unique_ptr<std::byte[]> stack_;  ///< for the handler; null if the thread already had one
};

/// Thread: the worker's. Owns: every stack, except those in use when it ends; these are abandoned,
/// because their fibers still exist.
class fiber_stacks final : public fiber_place {
 public:
  /// Construct it on the thread that runs the worker.
  fiber_stacks() noexcept;
  ~fiber_stacks() override;

  /// The running worker's pool; made at the first call.
  [[nodiscard]] static fiber_stacks& here();

  /// A stack with at least this much room. Throws failure if fibers_max are in use, if the size is
  /// out of bounds, or if the kernel has no more memory.
  [[nodiscard]] fiber_stack& take(std::size_t bytes);
  void give_back(fiber_stack& s) noexcept;

  /// Whether this address is in the guard of that stack.
  [[nodiscard]] static bool in_guard(const fiber_stack& s, const void* address) noexcept;

  fiber_limits limits;
  /// Reads the statistics. A fiber that began here may have ended on another worker.
  [[nodiscard]] fiber_statistics read() const noexcept {
    fiber_statistics now = count_;
    now.running -= ended_afar_.load(std::memory_order_relaxed);
    return now;
  }
  std::vector<bool> hooked_descriptors;  ///< descriptors that hooks passed to the driver

 private:
  struct size_class {
    std::size_t bytes;
    fiber_stack* free = nullptr;
  };
  [[nodiscard]] fiber_stack& map(std::uint32_t class_index);
  /// Ends a stack; its memory waits for another runtime.
  static void let_go(fiber_stack& s) noexcept;
  [[nodiscard]] std::uint32_t find_class(std::size_t bytes) const noexcept;
  [[nodiscard]] std::uint32_t class_of(std::size_t bytes);

  fiber_statistics count_;  // `running` still includes fibers that ended on other workers
  std::atomic<std::size_t> ended_afar_{0};
  std::vector<size_class> classes_;
  std::unique_ptr<overflow_watch> watch_;
};

}  // namespace heddle::detail

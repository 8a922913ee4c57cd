// SPDX-License-Identifier: MIT
// Bounds of memory beyond those of one connection: of a stack, and of all stacks of a process
// together; and the counters of refusals when a bound is reached.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle::tcp {

/// The treatment of a new connection for which there is no memory.
enum class memory_policy : std::uint8_t {
  wait,    ///< the SYN is dropped; the peer sends it again after a second
  refuse,  ///< the SYN is answered with a reset; the peer learns at once
};

/// Kinds of refusals because a bound of memory was reached.
enum class refusal : std::uint8_t {
  accept,        ///< a peer's new connection
  connect,       ///< a new connection of ours
  write,         ///< bytes to send; the writer waits for user::eased()
  data,          ///< received bytes in order: dropped, the peer sends them again
  out_of_order,  ///< received bytes beyond a gap: dropped
  window,        ///< the window offered was smaller than the connection's own bound allows
  stalled,       ///< a connection was reset: its bytes had not moved for too long
  count
};
inline constexpr std::size_t refusal_count = static_cast<std::size_t>(refusal::count);
[[nodiscard]] std::string_view name_of(refusal what) noexcept;

/// The bound that was reached: of a stack, or of the process.
enum class bound : std::uint8_t { shard, process };
[[nodiscard]] std::string_view name_of(bound b) noexcept;

/// The numbers of refusals, by kind and by bound.
using refusal_counters = std::array<std::array<std::uint64_t, 2>, refusal_count>;

/// The memory of all stacks that share this object. Each stack takes a part in steps, so that it
/// seldom touches the shared counter.
///
/// Thread: any.
class memory_budget {
 public:
  explicit memory_budget(std::size_t bytes) noexcept : limit_(bytes) {}
  memory_budget(const memory_budget&) = delete;
  memory_budget& operator=(const memory_budget&) = delete;

  [[nodiscard]] std::size_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

  /// Takes the bytes; false if they do not fit.
  [[nodiscard]] bool take(std::size_t bytes) noexcept {
    std::size_t was = used();
    do {
      if (was > limit_ || bytes > limit_ - was) return false;
    } while (!used_.compare_exchange_weak(was, was + bytes, std::memory_order_relaxed));
    return true;
  }
  /// Adds memory that is in use already, even beyond the limit.
  void add(std::size_t bytes) noexcept { used_.fetch_add(bytes, std::memory_order_relaxed); }
  void give_back(std::size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  std::size_t limit_;
  std::atomic<std::size_t> used_{0};  // relaxed: a count that orders nothing
};

/// The memory of a stack at one moment, in bytes.
struct memory_state {
  std::size_t used = 0;
  std::size_t limit = 0;
  std::size_t process_used = 0;  ///< use of all stacks that share a memory_budget; 0: there is none
  std::size_t process_limit = 0;
  bool is_short = false;  ///< something was refused, and there is not yet room again
};

}  // namespace heddle::tcp

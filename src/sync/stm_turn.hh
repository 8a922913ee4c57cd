// SPDX-License-Identifier: MIT
// Which transaction goes first, and how they wait for each other. The word here and the seats'
// records (sync/stm_seat.hh) are all that transactions of a process share besides the variables.
//
// Starvation: a transaction that has failed several times waits for the right to go first. From
// then on no other begins to commit until it has committed, thrown or begun to wait; transactions
// that are committing already can make it fail once each. So it commits after at most as many more
// failures as there are threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace heddle {

class transaction;

namespace detail {

struct stm_shared {
  /// The transaction that goes first, or null.
  alignas(64) std::atomic<const transaction*> first{nullptr};
};

extern constinit stm_shared stm;

/// Pauses for a few dozen cycles, in which another thread of the same core goes faster.
inline void stm_relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// A pause in a loop that waits for a few instructions of another thread: the first ones spin,
/// later ones yield the processor, in case that thread is not running.
class stm_pause {
 public:
  void operator()() noexcept {
    if (++rounds_ > 64) {
      std::this_thread::yield();
    } else {
      stm_relax();
    }
  }
  [[nodiscard]] unsigned rounds() const noexcept { return rounds_; }

 private:
  unsigned rounds_ = 0;
};

[[nodiscard]] inline bool is_locked(std::uint64_t word) noexcept { return (word & 1) != 0; }

}  // namespace detail
}  // namespace heddle

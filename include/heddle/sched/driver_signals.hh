// SPDX-License-Identifier: MIT
// Signals of the process as a driver gives them: as something to read from a descriptor.
#pragma once

#include <cstdint>

namespace heddle {

/// Thread: the worker's.
class driver_signals {
 public:
  /// A descriptor from which `read` gives 8 bytes when a signal came since the last read; or
  /// -errno. The signals' actions do not take place from now on until release_signals.
  [[nodiscard]] virtual int signal_source(std::uint64_t signal_mask) noexcept = 0;
  /// The number of a signal that came and was not taken yet; 0: none.
  [[nodiscard]] virtual int take_signal(std::uint64_t signal_mask) noexcept = 0;
  /// Restores the signals' actions. Call this before `fd` is closed.
  virtual void release_signals(int fd, std::uint64_t signal_mask) noexcept = 0;

 protected:
  ~driver_signals() = default;
};

}  // namespace heddle

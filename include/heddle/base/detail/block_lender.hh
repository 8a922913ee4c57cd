// SPDX-License-Identifier: MIT
// The owner of numbered memory blocks that it lends, for example a driver with its receive blocks,
// or a layer with buffers of its own.
#pragma once

#include <cstdint>

namespace heddle {

/// Thread: return_block() may be called on any worker.
class block_lender {
 public:
  virtual void return_block(std::uint32_t number) noexcept = 0;

 protected:
  ~block_lender() = default;
};

}  // namespace heddle

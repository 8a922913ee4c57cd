// SPDX-License-Identifier: MIT
// Room abi's data of each worker.
#pragma once

#include <string>

#include "heddle/core/worker.hh"

namespace heddle::abi {

struct part final : worker_part {
  /// Turns of loops that may run long, before other threads get their turn (Angiuli and Sullivan:
  /// 50).
  static constexpr std::uint32_t budget_full = 50;
  /// The depth of recursive calls; a C stack has room for far more small frames.
  static constexpr std::uint32_t depth_max = 1000;

  std::uint32_t budget = budget_full;
  std::uint32_t depth = 0;
  std::string line;  ///< the line that is being logged
};

[[nodiscard]] part& part_of(worker& w);

}  // namespace heddle::abi

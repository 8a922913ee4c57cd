// SPDX-License-Identifier: MIT
// HEDDLE_MEMORY for the programs of C++: as programs compiled from Draft take it.
#pragma once

#include <cstdlib>

#include "heddle/sched/runtime.hh"

inline heddle::runtime_options from_environment() {
  heddle::runtime_options options;
  if (const char* const bytes = std::getenv("HEDDLE_MEMORY"))
    options.memory_bytes = std::strtoull(bytes, nullptr, 10);
  return options;
}

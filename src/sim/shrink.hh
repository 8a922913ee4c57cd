// SPDX-License-Identifier: MIT
// Making a failing run small. Each step leaves something out, and is kept if the run fails in the
// same way: its scenario says the same in its first line.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "heddle/sim/run_file.hh"

namespace heddle::sim {

/// A scenario's verdict on a run, and how many numbers each stream of chance gave.
struct attempt {
  std::string said;
  std::map<std::string, std::uint64_t> draws;
};

/// The first line of a verdict that is not empty, as a run file keeps it; "" only for "".
[[nodiscard]] std::string first_line(const std::string& verdict);

struct shrink_limits {
  std::uint64_t runs_max;
  nanoseconds time_max;  ///< real
};

/// Gives the smallest run that was found, and how many runs that took.
[[nodiscard]] run_file shrink(run_file run, attempt first, const shrink_limits& limits,
                              const std::function<attempt(const run_file&)>& repeat,
                              std::uint64_t& runs);

}  // namespace heddle::sim

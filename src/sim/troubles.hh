// SPDX-License-Identifier: MIT
// Troubles and faults of a run of a cluster, between its file (run_file.hh) and its world.
#pragma once

#include "heddle/sim/run_file.hh"
#include "sim/world.hh"

namespace heddle::sim {

/// Has a world take the faults of operations and the calm draws of a file.
void follow(const run_file& run, world& w);

/// The faults of operations that came, or were given.
[[nodiscard]] std::vector<operation_fault> faults_of(const world& w);

}  // namespace heddle::sim

// SPDX-License-Identifier: MIT
// The world of the cluster that runs on this thread.
#include "sim/running_world.hh"

#include <utility>

namespace heddle::sim {

namespace {

constinit thread_local world* running_here = nullptr;

}  // namespace

running_world::running_world(world& w) noexcept : before_(std::exchange(running_here, &w)) {}
running_world::~running_world() { running_here = before_; }
world* running_world::here() noexcept { return running_here; }

}  // namespace heddle::sim

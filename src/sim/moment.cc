// SPDX-License-Identifier: MIT
// The moment at which a test records something: on a node, or in a cluster outside of all nodes.
#include "heddle/sim/detail/moment.hh"

#include <utility>

#include "heddle/sim/driver.hh"
#include "sim/running_world.hh"
#include "sim/world.hh"

namespace heddle::sim {

namespace {

constinit thread_local world* running_here = nullptr;

}  // namespace

running_world::running_world(world& w) noexcept : before_(std::exchange(running_here, &w)) {}
running_world::~running_world() { running_here = before_; }

std::optional<nanoseconds> detail::moment_of(std::string_view text) {
  const worker* const w = worker::current();
  if (sim_driver* const here = w == nullptr ? nullptr : dynamic_cast<sim_driver*>(w->io)) {
    if (here->cut_off()) return std::nullopt;
    here->note(text);
    return here->elapsed();
  }
  if (running_here == nullptr) return nanoseconds{0};
  running_here->log.note({running_here->time(), 0}, text);
  return running_here->time() - running_here->options.start;
}

}  // namespace heddle::sim

// SPDX-License-Identifier: MIT
// The moment at which a test records something: on a node, or in a cluster outside of all nodes.
#include "heddle/sim/detail/moment.hh"

#include "heddle/sim/driver.hh"
#include "sim/running_world.hh"
#include "sim/world.hh"

namespace heddle::sim {

std::optional<nanoseconds> detail::moment_of(std::string_view text) {
  const worker* const w = worker::current();
  if (sim_driver* const here = w == nullptr ? nullptr : dynamic_cast<sim_driver*>(w->io)) {
    if (here->cut_off()) return std::nullopt;
    here->note(text);
    return here->elapsed();
  }
  world* const around = running_world::here();
  if (around == nullptr) return nanoseconds{0};
  around->log.note({around->time(), 0}, text);
  return around->time() - around->options.start;
}

}  // namespace heddle::sim

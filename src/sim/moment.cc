// SPDX-License-Identifier: MIT
// The moment at which a test records something.
#include "heddle/sim/detail/moment.hh"

#include "heddle/sim/driver.hh"

namespace heddle::sim::detail {

std::optional<nanoseconds> moment_of(std::string_view text) {
  const worker* const w = worker::current();
  sim_driver* const world = w == nullptr ? nullptr : dynamic_cast<sim_driver*>(w->io);
  if (world == nullptr) return nanoseconds{0};
  if (world->cut_off()) return std::nullopt;
  world->note(text);
  return world->elapsed();
}

}  // namespace heddle::sim::detail

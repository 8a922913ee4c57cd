// SPDX-License-Identifier: MIT
// Drivers by name: the simulation, or one of the kernel's. It is in this room because this is the
// lowest one that knows all of them.
#include <cstdlib>

#include "heddle/io/kernel_drivers.hh"
#include "heddle/sim/driver.hh"

namespace heddle {

std::unique_ptr<driver> make_driver(const std::string& choice, driver_place& place) {
  std::string wanted = choice;
  if (wanted.empty())
    if (const char* from_environment = std::getenv("HEDDLE_DRIVER")) wanted = from_environment;
  if (wanted != "sim") return make_kernel_driver(wanted, place);
  sim_options options;
  options.limits = place.options;
  return std::make_unique<sim_driver>(std::move(options));
}

std::unique_ptr<driver> make_driver(const std::string& choice, const driver_options& options) {
  driver_place place{.options = options};
  return make_driver(choice, place);
}

}  // namespace heddle

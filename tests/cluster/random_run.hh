// SPDX-License-Identifier: MIT
// The parts that random runs of whole services have in common: links and faults drawn from the
// seed, services that begin again after an error, and the verdict on how a run ended.
#pragma once

#include <chrono>
#include <string>

#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/sim/cluster.hh"
#include "support/draws.hh"

namespace heddle::test {

/// The options with a drawn link, and in every second run with these rates of faults.
inline sim::cluster_options with_drawn_faults(sim::cluster_options options, sim_rates rates) {
  using namespace std::chrono_literals;
  draws draw(options.world.seed, 1);
  options.world.link = {.latency = draw.span(20ms), .jitter = draw.span(20ms)};
  if (draw.one_of(2)) options.world.faults = rates;
  return options;
}

/// Serves, and again after each error of a socket or the disk, until the process ends.
template <class Server>
task<int> serve_always(Server& server, task<> (*serve)(Server&)) {
  for (;;) {
    const auto ended = co_await as_expected(serve(server));
    if (!ended && ended.error() == std::errc::operation_canceled) throw failure(ended.error());
    co_await sleep_for(std::chrono::milliseconds(100));
  }
}

/// "" if the run has finished; else a verdict for sim::for_runs.
inline std::string verdict_on(const sim::outcome& end) {
  return end ? "" : "ends: " + std::to_string(static_cast<int>(end.how)) + '\n' + end.why;
}

}  // namespace heddle::test

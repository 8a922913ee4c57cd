// SPDX-License-Identifier: MIT
// Tests over many seeds: for_seeds runs a body for each seed of a range, stops at the first seed
// that fails, and prints the command that runs this seed alone. The environment chooses other seeds
// or a time to spend, so one test serves a commit, a night, and the search for a cause.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace heddle::sim {

/// The seeds that for_seeds runs where the environment does not say otherwise. for_seeds reads
///   HEDDLE_SEED      one seed (7) or a range of seeds (7-20), instead of `first` and `count`
///   HEDDLE_HUNT_S    seconds to spend: seeds from a drawn one on, or from HEDDLE_SEED
///   HEDDLE_HUNT_AT   a file whose 8 bytes are the seed that runs, also after a crash
///   HEDDLE_MARKS     1: say how often each mark was reached by these seeds (base/sometimes.hh);
///                    with HEDDLE_HUNT_S they are said anyway
struct seeds_options {
  std::uint64_t first = 1;
  std::uint64_t count = 100;
  /// How to run the test again, without the seed: "build/tests/http_test --gtest_filter=roles.*".
  /// Empty: the program with its arguments, as it was started.
  std::string command = {};
};

struct seeds_outcome {
  std::uint64_t ran = 0;
  std::optional<std::uint64_t> failed = {};  ///< the seed for which the body said false or threw
  /// Whether a seed ran and none failed.
  [[nodiscard]] explicit operator bool() const noexcept { return ran != 0 && !failed; }
};

/// Runs `passes` for each seed until it says false. An exception goes on to the caller, after the
/// line that names the seed. Says on stderr, with HEDDLE_HUNT_S, how many seeds ran in what time.
/// An environment that says nothing sensible is reported, and no seed runs.
/// Thread: any; the body runs on the caller's.
///
///   const sim::seeds_outcome all = sim::for_seeds({.count = 200}, [](std::uint64_t seed) {
///     sim_driver* world = new sim_driver({.seed = seed, .faults = {.reset = 0.01}});
///     runtime rt{std::unique_ptr<driver>(world)};
///     return rt.run(program()) == 42 && world->open_descriptors() == 0;
///   });
seeds_outcome for_seeds(const seeds_options& options,
                        const std::function<bool(std::uint64_t)>& passes);

}  // namespace heddle::sim

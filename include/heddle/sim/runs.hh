// SPDX-License-Identifier: MIT
// Tests of clusters over many seeds: for_runs runs a scenario for each seed, makes the first run
// that fails small, and leaves it as a file that replays it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "heddle/sim/cluster.hh"
#include "heddle/sim/seeds.hh"

namespace heddle::sim {

/// Makes a cluster of these options, adds nodes, runs it, and gives a verdict: the fault, or "".
/// The first line of a verdict names the check, and its finding in few words ("lost: key 7"): a
/// smaller run counts only if it fails with the same line. All that is not drawn from the cluster
/// must be the same in each run.
using scenario = std::function<std::string(const cluster_options&)>;

/// Shrinking leaves faults out (delta debugging: Zeller and Hildebrandt 2002), makes sizes smaller,
/// rounds times and lets chance be calm, as long as the scenario says the same in its first line.
/// for_runs reads the variables of for_seeds (seeds.hh), and
///   HEDDLE_RUN         a file to replay, instead of all seeds
///   HEDDLE_RUN_ANYWAY  1: replay it though another build wrote it
struct runs_options {
  std::string name;              ///< the scenario's, and its files'; letters, digits and '-'
  seeds_options seeds = {};      ///< the seeds to run; `command` also replays
  cluster_options cluster = {};  ///< without seed and at_end
  /// Seeds that this number divides run twice, in another layout of memory. They fail if the traces
  /// differ ("differs: two runs of one seed"), or if the second run alone fails ("differs: " and
  /// its verdict). 0: none.
  std::uint64_t repeat_one_in = 20;
  std::string folder = "build/sim";      ///< for the files NAME-SEED.run and NAME-SEED.trace
  std::uint64_t shrink_runs_max = 2000;  ///< runs that shrinking may take; 0: do not shrink
  nanoseconds shrink_time_max = std::chrono::seconds(120);
};

struct runs_outcome {
  std::uint64_t ran = 0;
  std::string failed = {};  ///< the verdict on the run that failed
  std::string file = {};    ///< where the small run is; empty if it could not be written
  run_file smallest = {};   ///< the run that failed, made small
  std::uint64_t shrink_runs = 0;
  [[nodiscard]] explicit operator bool() const noexcept { return ran != 0 && failed.empty(); }
};

/// Runs the scenario for each seed until one fails. Says on stderr what failed, how small it
/// became, and the command that replays it. A replay says whether the run fails as it did, and
/// whether it is the same run; if not, the first record of the trace that differs. Thread: any; the
/// scenario runs on the caller's.
///
///   const sim::runs_outcome all = sim::for_runs(
///       {.name = "bank", .seeds = {.count = 200}, .cluster = {.trouble = {.count_max = 10}}},
///       [](const sim::cluster_options& drawn) -> std::string {
///         sim::cluster world(drawn);
///         world.add(...);
///         const sim::outcome end = world.run(1min);
///         return end ? "" : "ends: " + end.why;
///       });
runs_outcome for_runs(const runs_options& options, const scenario& body);

}  // namespace heddle::sim

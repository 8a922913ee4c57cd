// SPDX-License-Identifier: MIT
// Measures what merging gains in a program's own run, chain by chain: the program runs in turns
// with all topics merged, and with one chain generic (the variable HEDDLE_BUS_GENERIC). The run
// raises topics as often as the program does, so each chain counts with its own weight.
#pragma once

#include <string>
#include <vector>

#include "heddle/optimizer/planner.hh"

namespace heddle {

struct measure_options {
  std::string program = {};  ///< the file of the program, built with the plan
  /// File of the program without a plan. Empty: `program` with all topics generic.
  std::string original = {};
  std::vector<std::string> arguments = {};
  std::size_t rounds = 9;
  /// A chain is slower if it loses this share of the program's processor time in the median, and
  /// loses in seven of eight rounds. Fewer than five rounds tell nothing.
  double loss_min = 0.003;
};

struct measured_chain {
  std::vector<std::uint32_t> topics;  ///< indexes in the profile
  double gain_ns = 0;    ///< processor time that merging saves in a run, median of the rounds
  std::size_t lost = 0;  ///< number of rounds in which the run was faster without merging the chain
  bool slower = false;   ///< whether a plan leaves the chain out
};
struct measured_plan {
  double original_ns = 0;  ///< processor time of one run, median
  double merged_ns = 0;
  std::size_t rounds = 0;
  std::vector<measured_chain> chains;  ///< as in the plan
};

/// Runs the programs, one after the other, with their output discarded. Throws failure if one
/// cannot be started, fails, or ends by a signal.
[[nodiscard]] measured_plan measure_plan(const plan& p, const profile_data& profile,
                                         const measure_options& options);

/// The file beside a profile with the topics that were measured to be slower when merged. A plan
/// leaves them out.
[[nodiscard]] std::string slower_file(const std::string& profile);
/// One line for each topic of a slower chain: its hash, the reason, its name.
[[nodiscard]] std::string slower_text(const measured_plan& m, const profile_data& profile);
/// Reads such a text. Throws failure that names the line if it is none.
[[nodiscard]] std::vector<left_out_topic> parse_slower(const std::string& text);

}  // namespace heddle

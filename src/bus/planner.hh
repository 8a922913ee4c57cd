// SPDX-License-Identifier: MIT
// From a profile to a plan: which topics are worth merging, in which sequences, and the header that
// tells the compiler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/bus/profile.hh"

namespace heddle {

struct plan_options {
  /// Topics are merged, busiest first, until this share of all handler calls is covered.
  double theta = 0.95;
  std::size_t variants_max = 3;     ///< sequences of one topic; class bus tests for at most three
  double variant_share_min = 0.05;  ///< of the topic's raises; a rarer sequence runs generically
  std::size_t handlers_max = 256;   ///< in one sequence: each is a call site in every raiser
  std::size_t levels_max = 4;  ///< raises in raises that surely become one function: each may stand
                               ///< at several places, and the copies multiply
  /// Whose names the profile must have; empty: any.
  std::string compiler;
};

struct plan_variant {
  std::uint64_t count = 0;
  std::vector<std::int32_t> numbers;  ///< of plan::handlers; -1: a hole, called through its slot
};
struct plan_topic {
  std::uint32_t topic = 0;  ///< of the profile
  std::vector<plan_variant> variants;
  std::uint64_t calls = 0;          ///< handler calls in the profile that the plan makes direct
  std::uint64_t nested_raises = 0;  ///< raises out of its handlers of topics that are merged too
  bool inlined = false;  ///< its handlers become part of who raises it, whatever their size
};
struct plan {
  std::string compiler;
  /// Of the text of its header, and part of every name there: programs with several plans may share
  /// a library, and the linker takes equal names for the same thing.
  std::uint64_t stamp = 0;
  std::vector<plan_topic> topics;
  std::vector<std::uint32_t> handlers;  ///< of the profile
  std::uint64_t calls_all = 0;          ///< handler calls in the profile
  std::vector<std::string> notes;       ///< what was left out and why, for people
};

[[nodiscard]] plan make_plan(const profile_data& profile, const plan_options& options = {});

/// The plan for people: topic, handlers merged, raises turned into calls, shares.
[[nodiscard]] std::string plan_table(const plan& p, const profile_data& profile);
/// The header that HEDDLE_BUS_PLAN names. `p` may be empty: then it is a build without a plan.
[[nodiscard]] std::string plan_header(const plan& p, const profile_data& profile);
/// C source with a definition for each handler, used by the linker where the program has none.
[[nodiscard]] std::string plan_fallback(const plan& p);

/// Which of the plan's handlers are in a program's file (its bytes), as numbers of plan::handlers
/// that are missing.
[[nodiscard]] std::vector<std::uint32_t> missing_handlers(const plan& p,
                                                          const profile_data& profile,
                                                          std::string_view program);

}  // namespace heddle

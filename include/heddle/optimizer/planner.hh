// SPDX-License-Identifier: MIT
// Makes a plan from a profile: chooses the topics worth merging and their sequences, and writes the
// header for the compiler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/bus/plan.hh"
#include "heddle/bus/profile.hh"

namespace heddle {

/// A topic that a plan leaves out, with the reason.
struct left_out_topic {
  std::uint64_t hash = 0;
  std::string reason;
};

struct plan_options {
  /// Topics are merged, busiest first, until this share of all handler calls is covered.
  double theta = 0.95;
  double share_min = 0.005;         ///< share of all handler calls; rarer topics are left out
  std::size_t variants_max = 3;     ///< sequences of one topic; class bus tests for at most three
  double variant_share_min = 0.05;  ///< share of a topic's raises; rarer sequences run generically
  std::size_t handlers_max = 256;   ///< in a sequence; each handler is a call site in every raiser
  std::size_t levels_max = 4;       ///< GCC: depth of nested raises that one function holds
  std::vector<left_out_topic> left_out = {};  ///< measured to be slower when merged (measure.hh)
  /// The compiler that the profile must come from; empty: any.
  std::string compiler;
};

struct plan_variant {
  std::uint64_t count = 0;
  std::vector<std::int32_t> numbers;  ///< indexes in plan::handlers; -1: a hole
};
struct plan_topic {
  std::uint32_t topic = 0;  ///< the topic's index in the profile
  std::uint32_t chain = 0;  ///< the chain's index in plan::chains
  std::vector<plan_variant> variants;
  std::uint64_t calls = 0;          ///< handler calls in the profile that the plan makes direct
  std::uint64_t nested_raises = 0;  ///< raises by its handlers of topics that are merged too
  detail::raised_from from = detail::raised_from::anywhere;
  bool several_raise = false;  ///< more than one handler raises it
  bool inlined = false;        ///< GCC: a raise of the topic may be inlined into the raiser
};
struct plan {
  std::string compiler;
  /// A hash of the plan header's text, and part of every name in it. Programs with different plans
  /// may share a library, and the linker treats equal names as the same thing.
  std::uint64_t stamp = 0;
  std::vector<plan_topic> topics;
  /// Chains by their first topic: topics whose bindings are always as in the profile, and whose
  /// handlers raise each other. Merged code checks them together.
  std::vector<std::uint32_t> chains;
  std::vector<std::uint32_t> handlers;  ///< the handlers' indexes in the profile
  std::uint64_t calls_all = 0;          ///< handler calls in the profile
  std::vector<std::string> notes;       ///< readable: the parts left out, with the reason
};

[[nodiscard]] plan make_plan(const profile_data& profile,
                             const plan_options& options = plan_options());

/// The plan as a readable table: topic, handlers merged, raises turned into calls, shares.
[[nodiscard]] std::string plan_table(const plan& p, const profile_data& profile);
/// The header for HEDDLE_BUS_PLAN. If `p` is empty, the build is as without a plan.
[[nodiscard]] std::string plan_header(const plan& p, const profile_data& profile);
/// C source with a definition of each handler, which the linker uses if the program has none.
[[nodiscard]] std::string plan_fallback(const plan& p);

/// Checks which of the plan's handlers an executable (given by its bytes) contains. Returns the
/// indexes in plan::handlers of the missing ones.
[[nodiscard]] std::vector<std::uint32_t> missing_handlers(const plan& p,
                                                          const profile_data& profile,
                                                          std::string_view program);

}  // namespace heddle

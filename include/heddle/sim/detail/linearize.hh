// SPDX-License-Identifier: MIT
// The search behind history.hh: an order of operations that explains all answers. Wing and Gong's
// idea (Testing and verifying concurrent objects, 1993) with Lowe's cache of the sets of operations
// and states that were seen (Testing for linearizability, 2017), as a best-first search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace heddle::sim::detail {

/// An operation on one object. Places count all calls and answers of a history.
struct recorded_operation {
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t called = 0;
  std::uint64_t answered = never;  ///< never: it takes effect at any time after its call, or never
};

struct found_order {
  enum class kind : std::uint8_t { linearizable, not_linearizable, undecided };
  kind how = kind::linearizable;
  /// The operations of the longest order that explains its answers, by their indexes.
  std::vector<std::size_t> longest = {};
  /// If not linearizable: the operation whose answer nothing explains after `longest`.
  std::size_t stuck = 0;
  std::uint64_t steps = 0;
};

/// An object by numbers: equal states have equal numbers, and 0 is the first.
class sequential_object {
 public:
  /// The state after an operation, or nothing if its answer is not possible in the state before.
  [[nodiscard]] virtual std::optional<std::uint32_t> step(std::uint32_t before,
                                                          std::size_t operation) const = 0;
  /// Whether an operation with its answer may follow this state, with others in between.
  [[nodiscard]] virtual bool may_follow(std::uint32_t state, std::size_t operation) const = 0;

 protected:
  ~sequential_object() = default;
};

/// Looks for an order in which each answered operation takes effect between its call and its
/// answer. `operations` are in the order of their calls.
[[nodiscard]] found_order linearize(const std::vector<recorded_operation>& operations,
                                    const sequential_object& object, std::uint64_t steps_max);

}  // namespace heddle::sim::detail

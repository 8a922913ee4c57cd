// SPDX-License-Identifier: MIT
// The search for an order of operations, from one set of ordered operations to the next. A set with
// fewer unanswered operations is tried first, then the one with more answered ones: few unanswered
// operations explain anything. Two sets with the same answered operations and the same state have
// the same future, if the unanswered operations of the one are among those of the other; so only
// the smaller is kept. That bounds the work where many operations have no answer.
#include "heddle/sim/detail/linearize.hh"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>

#include "sim/trace.hh"

namespace heddle::sim::detail {
namespace {

/// A set of operations, by their indexes.
class operation_set {
 public:
  explicit operation_set(std::size_t count) : words_((count + 63) / 64) {}
  [[nodiscard]] bool has(std::size_t i) const noexcept {
    return (words_[i / 64] >> i % 64 & 1) != 0;
  }
  void add(std::size_t i) noexcept { words_[i / 64] |= std::uint64_t{1} << i % 64; }
  [[nodiscard]] bool is_within(const operation_set& other) const noexcept {
    for (std::size_t k = 0; k != words_.size(); ++k)
      if ((words_[k] & ~other.words_[k]) != 0) return false;
    return true;
  }
  [[nodiscard]] std::uint64_t hash(std::uint64_t from) const noexcept {
    return hash_bytes(words_.data(), words_.size() * sizeof(std::uint64_t), from);
  }
  bool operator==(const operation_set&) const = default;

 private:
  std::vector<std::uint64_t> words_;
};

/// The answered operations that were ordered, and the state after them.
struct reached {
  operation_set answered;
  std::uint32_t state = 0;
  bool operator==(const reached&) const = default;
};
struct hash_of_reached {
  std::size_t operator()(const reached& r) const noexcept { return r.answered.hash(r.state + 1); }
};

/// A step of the search: the sets that it has reached, and how.
struct place {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  reached at;
  operation_set unanswered;
  std::size_t before = none;  ///< the place from which `operation` led here
  std::size_t operation = none;
};

/// Places in the order in which they are tried.
struct rank {
  std::size_t unanswered, answered, number;
  bool operator<(const rank& other) const noexcept {
    if (unanswered != other.unanswered) return unanswered > other.unanswered;
    if (answered != other.answered) return answered < other.answered;
    return number < other.number;
  }
};

class search {
 public:
  search(const std::vector<recorded_operation>& operations, const sequential_object& object)
      : operations_(operations), object_(object) {
    for (const recorded_operation& o : operations)
      answered_ += o.answered == recorded_operation::never ? 0 : 1;
  }

  found_order run(std::uint64_t steps_max) {
    const operation_set empty(operations_.size());
    add({{empty, 0}, empty}, 0, 0);
    while (!open_.empty()) {
      const rank now = open_.top();
      open_.pop();
      if (now.answered > best_) {
        best_ = now.answered;
        best_place_ = now.number;
      }
      if (now.answered == answered_) return ended(found_order::kind::linearizable);
      if (found_.steps >= steps_max) return ended(found_order::kind::undecided);
      go_on_from(now);
    }
    return ended(found_order::kind::not_linearizable);
  }

 private:
  [[nodiscard]] bool is_answered(std::size_t i) const noexcept {
    return operations_[i].answered != recorded_operation::never;
  }

  void go_on_from(const rank& now) {
    const place here = places_[now.number];
    std::uint64_t first_answer = recorded_operation::never;
    for (std::size_t i = 0; i != operations_.size(); ++i) {
      if (!is_answered(i) || here.at.answered.has(i)) continue;
      first_answer = std::min(first_answer, operations_[i].answered);
      if (!object_.may_follow(here.at.state, i)) return;
    }
    for (std::size_t i = 0; i != operations_.size() && operations_[i].called < first_answer; ++i) {
      if (here.at.answered.has(i) || here.unanswered.has(i)) continue;
      ++found_.steps;
      const std::optional<std::uint32_t> after = object_.step(here.at.state, i);
      if (!after) continue;
      place next{{here.at.answered, *after}, here.unanswered, now.number, i};
      if (is_answered(i)) {
        next.at.answered.add(i);
        add(std::move(next), now.unanswered, now.answered + 1);
      } else if (*after != here.at.state) {
        next.unanswered.add(i);
        add(std::move(next), now.unanswered + 1, now.answered);
      }
    }
  }

  /// Keeps a place, unless another one has the same future.
  void add(place next, std::size_t unanswered, std::size_t answered) {
    std::vector<operation_set>& others = seen_[next.at];
    for (const operation_set& other : others)
      if (other.is_within(next.unanswered)) return;
    others.push_back(next.unanswered);
    open_.push({unanswered, answered, places_.size()});
    places_.push_back(std::move(next));
  }

  found_order ended(found_order::kind how) {
    found_.how = how;
    for (std::size_t i = best_place_; places_[i].before != place::none; i = places_[i].before)
      found_.longest.push_back(places_[i].operation);
    std::ranges::reverse(found_.longest);
    std::uint64_t first_answer = recorded_operation::never;
    for (std::size_t i = 0; i != operations_.size(); ++i)
      if (!places_[best_place_].at.answered.has(i) && operations_[i].answered < first_answer) {
        first_answer = operations_[i].answered;
        found_.stuck = i;
      }
    return std::move(found_);
  }

  const std::vector<recorded_operation>& operations_;
  const sequential_object& object_;
  std::size_t answered_ = 0;
  std::vector<place> places_;
  std::priority_queue<rank> open_;
  std::unordered_map<reached, std::vector<operation_set>, hash_of_reached> seen_;
  std::size_t best_ = 0, best_place_ = 0;
  found_order found_;
};

}  // namespace

found_order linearize(const std::vector<recorded_operation>& operations,
                      const sequential_object& object, std::uint64_t steps_max) {
  return search(operations, object).run(steps_max);
}

}  // namespace heddle::sim::detail

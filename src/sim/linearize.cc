// SPDX-License-Identifier: MIT
// The search for an order of operations. Calls and answers of operations not yet ordered are in a
// list; the operations that may come next are those called before its first answer. Unanswered
// operations are in a list of their own and are tried last, because few of them explain anything.
#include "heddle/sim/detail/linearize.hh"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "sim/trace.hh"

namespace heddle::sim::detail {
namespace {

constexpr std::size_t no_event = static_cast<std::size_t>(-1);

/// A list of events whose members can be taken out and put back, the last out first.
class event_list {
 public:
  explicit event_list(std::size_t count) : next_(count + 1), before_(count + 1), end_(count) {
    for (std::size_t i = 0; i <= count; ++i) {
      next_[i] = i == count ? 0 : i + 1;
      before_[i] = i == 0 ? count : i - 1;
    }
  }
  /// The first event, or one behind the last.
  [[nodiscard]] std::size_t first() const noexcept { return next_[end_]; }
  [[nodiscard]] std::size_t after(std::size_t i) const noexcept { return next_[i]; }
  [[nodiscard]] bool is_end(std::size_t i) const noexcept { return i == end_; }
  void take(std::size_t i) noexcept {
    next_[before_[i]] = next_[i];
    before_[next_[i]] = before_[i];
  }
  void put_back(std::size_t i) noexcept { next_[before_[i]] = before_[next_[i]] = i; }

 private:
  std::vector<std::size_t> next_, before_;
  std::size_t end_;
};

/// Operations that were ordered, and the state after them.
struct reached {
  std::vector<std::uint64_t> ordered;  ///< a bit for each operation
  std::uint32_t state = 0;
  bool operator==(const reached&) const = default;
};

struct hash_of_reached {
  std::size_t operator()(const reached& r) const noexcept {
    return hash_bytes(r.ordered.data(), r.ordered.size() * sizeof(std::uint64_t),
                      r.state * 0x9e3779b97f4a7c15U + 1);
  }
};

class search {
 public:
  search(const std::vector<recorded_operation>& operations, const numbered_step& step)
      : operations_(operations),
        step_(step),
        events_(events_of(operations, true)),
        unanswered_(events_of(operations, false)),
        to_order_(events_.size()),
        may_be_(unanswered_.size()),
        answer_at_(operations.size(), no_event),
        now_{.ordered = std::vector<std::uint64_t>((operations.size() + 63) / 64)},
        left_(events_.size() / 2) {
    for (std::size_t i = 0; i != events_.size(); ++i)
      if (events_[i].is_answer) answer_at_[events_[i].operation] = i;
  }

  found_order run(std::uint64_t steps_max) {
    bool went = left_ == 0 || next_of_answered(to_order_.first());
    while (left_ != 0) {
      if (!went && chosen_.empty()) return ended(found_order::kind::not_linearizable);
      if (found_.steps >= steps_max) return ended(found_order::kind::undecided);
      went = went ? next_of_answered(to_order_.first()) : back();
    }
    return ended(found_order::kind::linearizable);
  }

 private:
  struct event {
    std::uint64_t place;
    std::size_t operation;
    bool is_answer;
  };
  /// A choice that can be taken back.
  struct choice {
    std::size_t event;
    bool of_answered;
    std::uint32_t state_before;
  };

  static std::vector<event> events_of(const std::vector<recorded_operation>& all, bool answered) {
    std::vector<event> events;
    for (std::size_t i = 0; i != all.size(); ++i) {
      if ((all[i].answered != recorded_operation::never) != answered) continue;
      events.push_back({all[i].called, i, false});
      if (answered) events.push_back({all[i].answered, i, true});
    }
    std::ranges::sort(events, {}, &event::place);
    return events;
  }

  [[nodiscard]] bool is_ordered(std::size_t operation) const noexcept {
    return (now_.ordered[operation / 64] >> (operation % 64) & 1) != 0;
  }
  void flip(std::size_t operation) noexcept {
    now_.ordered[operation / 64] ^= std::uint64_t{1} << (operation % 64);
  }

  /// Orders the first operation from this event on that explains itself and leads to what was not
  /// seen yet; false if there is none.
  bool next_of_answered(std::size_t from) {
    std::size_t i = from;
    for (; !events_[i].is_answer; i = to_order_.after(i))
      if (choose(events_[i].operation, i, true)) return true;
    return next_of_unanswered(may_be_.first());
  }
  bool next_of_unanswered(std::size_t from) {
    const std::uint64_t first_answer = first_left().place;
    for (std::size_t i = from; !may_be_.is_end(i) && unanswered_[i].place < first_answer;
         i = may_be_.after(i))
      if (choose(unanswered_[i].operation, i, false)) return true;
    return false;
  }
  /// The first answer that no order explains yet.
  [[nodiscard]] const event& first_left() const noexcept {
    std::size_t i = to_order_.first();
    while (!events_[i].is_answer) i = to_order_.after(i);
    return events_[i];
  }

  bool choose(std::size_t operation, std::size_t at, bool answered) {
    ++found_.steps;
    const std::optional<std::uint32_t> after = step_(now_.state, operation);
    if (!after) return false;
    // Without an answer and without an effect it explains nothing.
    if (!answered && *after == now_.state) return false;
    const std::uint32_t before = std::exchange(now_.state, *after);
    flip(operation);
    if (!seen_.insert(now_).second) {
      flip(operation);
      now_.state = before;
      return false;
    }
    chosen_.push_back({at, answered, before});
    if (!answered) {
      may_be_.take(at);
      return true;
    }
    to_order_.take(at);
    to_order_.take(answer_at_[operation]);
    --left_;
    if (const std::size_t explained = events_.size() / 2 - left_; explained > best_) {
      best_ = explained;
      keep_longest();
    }
    return true;
  }

  /// Takes the last choice back, and tries what comes behind it.
  bool back() {
    const choice last = chosen_.back();
    chosen_.pop_back();
    now_.state = last.state_before;
    if (!last.of_answered) {
      flip(unanswered_[last.event].operation);
      may_be_.put_back(last.event);
      return next_of_unanswered(may_be_.after(last.event));
    }
    const std::size_t operation = events_[last.event].operation;
    flip(operation);
    to_order_.put_back(answer_at_[operation]);
    to_order_.put_back(last.event);
    ++left_;
    return next_of_answered(to_order_.after(last.event));
  }

  void keep_longest() {
    found_.longest.clear();
    for (const choice& c : chosen_)
      found_.longest.push_back((c.of_answered ? events_ : unanswered_)[c.event].operation);
  }

  found_order ended(found_order::kind how) {
    found_.how = how;
    if (how == found_order::kind::linearizable) {
      keep_longest();
      return found_;
    }
    std::vector<bool> explained(operations_.size());
    for (const std::size_t i : found_.longest) explained[i] = true;
    for (const event& e : events_)
      if (e.is_answer && !explained[e.operation]) {
        found_.stuck = e.operation;
        break;
      }
    return found_;
  }

  const std::vector<recorded_operation>& operations_;
  const numbered_step& step_;
  std::vector<event> events_;      ///< calls and answers of answered operations
  std::vector<event> unanswered_;  ///< calls of the others
  event_list to_order_, may_be_;   ///< what of the two is not ordered yet
  std::vector<std::size_t> answer_at_;
  reached now_;
  std::size_t left_;  ///< answered operations that are not ordered yet
  std::size_t best_ = 0;
  std::vector<choice> chosen_;
  std::unordered_set<reached, hash_of_reached> seen_;
  found_order found_;
};

}  // namespace

found_order linearize(const std::vector<recorded_operation>& operations, const numbered_step& step,
                      std::uint64_t steps_max) {
  return search(operations, step).run(steps_max);
}

}  // namespace heddle::sim::detail

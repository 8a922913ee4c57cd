// SPDX-License-Identifier: MIT
// Checks that a service answers as if its operations took effect one after the other, each between
// its call and its answer: that it is linearizable (Herlihy and Wing, Linearizability: a
// correctness condition for concurrent objects, 1990). Clients write their operations into a
// history while they run; history::wrong() then says which answer no order explains. An operation
// without an answer may take effect at any time after its call, or never. Models of objects are in
// models.hh.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/sim/detail/linearize.hh"
#include "heddle/sim/detail/moment.hh"

namespace heddle::sim {

/// The behavior of an object whose operations follow each other. The first state is `state{}`.
/// `step` gives the state after an operation, or nothing if the object could not give this answer
/// in the state before. A null answer is one that never came: any would be right. `text` shows an
/// operation in a few words, with a null answer too. A model may also say
/// `static bool may_follow(const state&, const input&, const output& answer)`: false if no
/// operation with this answer can come after the state, however many others are in between. That
/// makes the search short for objects that remember all, such as lists.
template <class M>
concept object_model =
    std::totally_ordered<typename M::state> && std::default_initializable<typename M::state> &&
    requires(const typename M::state& before, const typename M::input& asked,
             const typename M::output* answer) {
      { M::step(before, asked, answer) } -> std::same_as<std::optional<typename M::state>>;
      { M::text(asked, answer) } -> std::convertible_to<std::string>;
    };

struct history_limits {
  std::size_t operations_max = 200;   ///< operations of one key
  std::uint64_t steps_max = 500'000;  ///< steps of the search, for one key
};

/// An operation of a history, for answer() and refused(). Of a process that was killed it is empty.
struct operation_id {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::size_t number = none;
};

/// The operations of all clients, in the order of their calls and answers. Each key is an object of
/// its own, so one history serves a store of many values. In a simulation its lines are also in the
/// trace, and code of a killed process writes nothing.
/// Thread: one. Declare it before the cluster whose programs write to it.
///
///   sim::history<sim::cell> seen;
///   ...
///   const sim::operation_id asked = seen.call("user1", "k", sim::cell::put("a"));
///   const auto answer = co_await as_expected(with_timeout(put("k", "a"), 1s));
///   if (answer) seen.answer(asked, {});   // otherwise it may have happened, or still happen
///   ...
///   EXPECT_EQ(seen.wrong(), "");
template <object_model Model>
class history {
 public:
  using input = Model::input;
  using output = Model::output;

  operation_id call(std::string client, std::string key, input asked) {
    const std::optional<nanoseconds> at =
        detail::moment_of(client + ": " + key + ": " + std::string(Model::text(asked, nullptr)));
    if (!at) return {};
    all_.push_back({.client = std::move(client),
                    .key = std::move(key),
                    .asked = std::move(asked),
                    .called_at = *at,
                    .place = {.called = places_++}});
    return {all_.size() - 1};
  }
  void answer(operation_id id, output got) {
    entry* const e = open(id);
    if (e == nullptr) return;
    const std::optional<nanoseconds> at = detail::moment_of(
        e->client + ": " + e->key + ": " + std::string(Model::text(e->asked, &got)));
    if (!at) return;
    e->got = std::move(got);
    e->answered_at = *at;
    e->place.answered = places_++;
  }
  /// The operation has had no effect and never will: the service has said so. Of several calls of
  /// answer() and refused() for one operation the first counts.
  void refused(operation_id id) {
    entry* const e = open(id);
    if (e == nullptr) return;
    const std::optional<nanoseconds> at =
        detail::moment_of(e->client + ": " + e->key + ": refused");
    e->refused = at.has_value();
  }

  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

  /// The fault, in lines: the check and the key ("not linearizable: k"), then the operations of
  /// this key, and the answer that no order explains. "" if an order explains all answers. A search
  /// that reaches a limit says "undecided", which is no proof of either.
  [[nodiscard]] std::string wrong(const history_limits& limits = {}) const {
    std::map<std::string, std::vector<const entry*>> keys;
    for (const entry& e : all_)
      if (!e.refused) keys[e.key].push_back(&e);
    std::string undecided;
    for (const auto& [key, entries] : keys) {
      std::string what = wrong_with(key, entries, limits);
      if (what.starts_with("undecided") && undecided.empty()) undecided.swap(what);
      if (!what.empty() && !what.starts_with("undecided")) return what;
    }
    return undecided;
  }
  /// All operations, one a line, or those of one key.
  [[nodiscard]] std::string text(const std::string* key = nullptr) const {
    std::string lines;
    for (const entry& e : all_)
      if (key == nullptr || e.key == *key) lines += line(e, key == nullptr);
    return lines;
  }

 private:
  struct entry {
    std::string client, key;
    input asked;
    std::optional<output> got = std::nullopt;
    bool refused = false;
    nanoseconds called_at{0}, answered_at{0};
    detail::recorded_operation place = {};
  };

  /// The model with its states numbered.
  class numbered_states final : public detail::sequential_object {
   public:
    explicit numbered_states(const std::vector<const entry*>& entries) : entries_(entries) {
      static_cast<void>(number_of({}));
    }
    std::optional<std::uint32_t> step(std::uint32_t before, std::size_t i) const override {
      const entry& e = *entries_[i];
      auto after = Model::step(*states_[before], e.asked, e.got ? &*e.got : nullptr);
      return after ? std::optional(number_of(std::move(*after))) : std::nullopt;
    }
    bool may_follow(std::uint32_t state, std::size_t i) const override {
      const entry& e = *entries_[i];
      if constexpr (requires { Model::may_follow(*states_[state], e.asked, *e.got); })
        return Model::may_follow(*states_[state], e.asked, *e.got);
      return true;
    }

   private:
    std::uint32_t number_of(Model::state s) const {
      const auto [at, made] =
          numbers_.try_emplace(std::move(s), static_cast<std::uint32_t>(states_.size()));
      if (made) states_.push_back(&at->first);
      return at->second;
    }

    const std::vector<const entry*>& entries_;
    mutable std::map<typename Model::state, std::uint32_t> numbers_;
    mutable std::vector<const typename Model::state*> states_;
  };

  /// The operation, if it has no answer yet.
  entry* open(operation_id id) {
    if (id.number >= all_.size()) return nullptr;
    entry& e = all_[id.number];
    return e.got || e.refused ? nullptr : &e;
  }

  static std::string seconds(nanoseconds t) {
    std::string whole = std::to_string(t.count() / 1'000'000'000);
    std::string rest = std::to_string(t.count() / 1'000 % 1'000'000);
    return whole + '.' + std::string(6 - rest.size(), '0') + rest + " s";
  }
  static std::string line(const entry& e, bool with_key = false) {
    return "  " + seconds(e.called_at) + " to " +
           (e.got       ? seconds(e.answered_at)
            : e.refused ? "a refusal"
                        : "no answer") +
           "  " + e.client + "  " + (with_key ? e.key + ": " : "") +
           std::string(Model::text(e.asked, e.got ? &*e.got : nullptr)) + '\n';
  }

  std::string wrong_with(const std::string& key, const std::vector<const entry*>& entries,
                         const history_limits& limits) const {
    using kind = detail::found_order::kind;
    if (entries.size() > limits.operations_max)
      return "undecided: " + key + '\n' + std::to_string(entries.size()) +
             " operations; history_limits::operations_max is " +
             std::to_string(limits.operations_max);
    std::vector<detail::recorded_operation> places;
    for (const entry* e : entries) places.push_back(e->place);
    const detail::found_order found =
        detail::linearize(places, numbered_states(entries), limits.steps_max);
    if (found.how == kind::linearizable) return "";
    if (found.how == kind::undecided)
      return "undecided: " + key + '\n' + text(&key) + "  history_limits::steps_max: no order in " +
             std::to_string(limits.steps_max) + " steps";
    std::string what = "not linearizable: " + key + '\n' + text(&key);
    what += "no order explains this answer:\n" + line(*entries[found.stuck]);
    what += "the longest order that explains its own answers:\n";
    for (const std::size_t i : found.longest) what += line(*entries[i]);
    return what;
  }

  std::vector<entry> all_;
  std::uint64_t places_ = 0;
};

}  // namespace heddle::sim

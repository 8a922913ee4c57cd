// SPDX-License-Identifier: MIT
// A raise of one topic: merged by the build's plan, or generic. Merged code contains nothing but a
// comparison before the first handler and after each; all else is in functions that it calls when a
// comparison fails. So raises in raises stay small enough to inline.
#pragma once

#include "heddle/bus/bus.hh"

namespace heddle {

/// A merged raise in progress: the state of its chain is "busy". If the state differs at the end,
/// bindings have changed.
class bus::merging {
 public:
  using state = detail::chain_state;
  [[gnu::always_inline]] merging(bus& b, state& at, state before, state busy) noexcept
      : bus_(b), at_(at), before_(before), busy_(busy) {
    at_ = busy;
  }
  merging(const merging&) = delete;
  merging& operator=(const merging&) = delete;
  [[gnu::always_inline]] ~merging() {
    if (at_ == busy_) [[likely]]
      at_ = before_;
    else if (before_ != busy_)
      bus_.leave_changed();
  }

 private:
  bus& bus_;
  state& at_;
  state before_;
  state busy_;
};

namespace detail {

/// Raises of one topic.
template <class T, class Plan, class Signature>
struct raise_of;
template <class T, class Plan, class R, class... Args>
struct raise_of<T, Plan, topic_signature<R, Args...>> {
  /// Generic, in the raiser: topics that the plan does not contain.
  [[gnu::always_inline]] static R generic(bus& b, pass_t<Args>... args) {
    const bus::raising inside(b);
    const topic_record& r = b.template find<T>();
    return run_slots<R, Args...>(r.begin, r.end, static_cast<pass_t<Args>>(args)...);
  }
  /// Generic, out of line: for raises of a planned topic whose bindings differ from the plan.
  [[gnu::noinline]] static R apart(bus& b, pass_t<Args>... args) {
    return generic(b, static_cast<pass_t<Args>>(args)...);
  }
  /// The rest of a raise whose bindings have changed during it. It is out of line, so that a
  /// function that merges many raises stays small.
  [[gnu::cold, gnu::noinline]] static R rest(bus& b, std::size_t ran, pass_t<Args>... args) {
    const topic_record& r = b.template find<T>();
    return run_slots<R, Args...>(r.begin + ran, r.end, static_cast<pass_t<Args>>(args)...);
  }

  template <int Number>
  [[gnu::always_inline]] static R planned_in(bus& b, pass_t<Args>... args) {
    constexpr planned_topic topic = Plan::topic(Number);
    constexpr int len = Plan::chain(topic.chain).len;
    constexpr int lead = len == 1 ? topic.first_variant : Plan::chain(topic.chain).lead;
    merged_block& merged = b.merged_;
    if constexpr (!Plan::is_near() || shares_name<T>) {
      if (merged.plan != variants_of_plan<Plan>::id()) [[unlikely]]
        return apart(b, static_cast<pass_t<Args>>(args)...);
    }
    if constexpr (shares_name<T>) {
      if (merged.topics[Number] != &topic_info_of<T>) [[unlikely]]
        return apart(b, static_cast<pass_t<Args>>(args)...);
    }
    constexpr bool is_near = Plan::is_near();
    chain_state& state = is_near ? merged.near_states[topic.chain] : merged.states[topic.chain];
    void* const* const objects =
        (is_near ? merged.near_objects_of : merged.objects) + Plan::objects_at(Number);
    const auto run = [&]<int V>(std::integral_constant<int, V>,
                                chain_state busy) __attribute__((always_inline)) {
      return run_variant<Plan, V, R, Args...>(
          std::make_integer_sequence<int, Plan::len_of(V)>(), state, busy, objects,
          [&](std::size_t ran) __attribute__((always_inline)) {
            return rest(b, ran, static_cast<pass_t<Args>>(args)...);
          },
          static_cast<pass_t<Args>>(args)...);
    };
    // In a raise of its own chain: nothing to note, because that raise notes all changes.
    if constexpr (topic.from == raised_from::chain) {
      const chain_state busy = busy_state(variants_of_plan<Plan>::at(lead));
      if (state == busy) [[likely]]
        return run(std::integral_constant<int, topic.first_variant>(), busy);
      return apart(b, static_cast<pass_t<Args>>(args)...);
    }
    const chain_state before = state;
    // GCC 12 inlines a lambda of a lambda only where both are marked.
    const auto enter = [&]<int V>(std::integral_constant<int, V> v, const variant* name)
                           __attribute__((always_inline)) {
                             const bus::merging inside(b, state, before, busy_state(name));
                             return run(v, busy_state(name));
                           };
    const auto fits = [&](const variant* name) __attribute__((always_inline)) {
      return before == idle_state(name) ||
             (topic.from == raised_from::anywhere && before == busy_state(name));
    };
    if (fits(variants_of_plan<Plan>::at(lead))) [[likely]]
      return enter(std::integral_constant<int, topic.first_variant>(),
                   variants_of_plan<Plan>::at(lead));
    if constexpr (topic.variant_count > 1) {
      constexpr int second = topic.first_variant + 1;
      if (fits(variants_of_plan<Plan>::at(second)))
        return enter(std::integral_constant<int, second>(), variants_of_plan<Plan>::at(second));
    }
    if constexpr (topic.variant_count > 2) {
      constexpr int third = topic.first_variant + 2;
      if (fits(variants_of_plan<Plan>::at(third)))
        return enter(std::integral_constant<int, third>(), variants_of_plan<Plan>::at(third));
    }
    return apart(b, static_cast<pass_t<Args>>(args)...);
  }

  [[gnu::always_inline]] static R here(bus& b, pass_t<Args>... args) {
    constexpr int number = Plan::topic_of(topic_hash<T>);
    if constexpr (number < 0) {
      return generic(b, static_cast<pass_t<Args>>(args)...);
    } else {
      return planned_in<number>(b, static_cast<pass_t<Args>>(args)...);
    }
  }
  [[gnu::noinline]] static R called(bus& b, pass_t<Args>... args) {
    return here(b, static_cast<pass_t<Args>>(args)...);
  }
};

/// Whether the code of a raise of T is a function of its own: if several handlers raise T, one copy
/// serves all. GCC also needs to know where a function ends, because it would inline the merged
/// code of one raise into a handler, and then find the handler too large to inline. Clang inlines
/// from the leaves up and stops at its size limit.
template <class T, class Plan>
consteval bool raised_apart() {
  constexpr int number = Plan::topic_of(topic_hash<T>);
  if constexpr (number >= 0)
    return Plan::topic(number).several_raise || (!inlines_calls && !Plan::topic(number).inlined);
  return false;
}

template <class T, class Plan, class R, class... Args>
[[gnu::always_inline]] inline R raise_topic(topic_signature<R, Args...>, bus& b,
                                            pass_t<Args>... args) {
  using raise = raise_of<T, Plan, topic_signature<R, Args...>>;
  if constexpr (raised_apart<T, Plan>()) {
    return raise::called(b, static_cast<pass_t<Args>>(args)...);
  } else {
    return raise::here(b, static_cast<pass_t<Args>>(args)...);
  }
}

}  // namespace detail
}  // namespace heddle

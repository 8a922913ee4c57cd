// SPDX-License-Identifier: MIT
// How a raise runs handlers. Generic: a walk over an array of {function, object}, one indirect call
// each. Merged: the handlers that the plan expects are called directly, so that the compiler can
// inline them and what they raise; after each the bindings are looked at, and once they differ from
// the plan the rest runs generically.
#pragma once

#include <utility>

#include "heddle/bus/plan.hh"
#include "heddle/bus/record.hh"

namespace heddle::detail {

/// The function type behind a slot's any_function.
template <class R, class... Args>
using call_type = R (*)(void*, pass_t<Args>...);

template <class R, class... Args>
inline R call_slot(const slot& s, pass_t<Args>... args) {
  return reinterpret_cast<call_type<R, Args...>>(s.call)(s.self,
                                                         static_cast<pass_t<Args>>(args)...);
}

/// Runs these handlers in order, until one halts.
template <class R, class... Args>
inline R run_slots(const slot* at, const slot* end, pass_t<Args>... args) {
  if constexpr (std::is_void_v<R>) {
    for (; at != end; ++at) call_slot<R, Args...>(*at, static_cast<pass_t<Args>>(args)...);
  } else {
    for (; at != end; ++at)
      if (call_slot<R, Args...>(*at, static_cast<pass_t<Args>>(args)...) == flow::halt)
        return flow::halt;
    return flow::go_on;
  }
}

template <class Plan, int Number, class R, class... Args>
struct planned_call;
template <class Data, int Number, class R, class... Args>
struct planned_call<planned<Data>, Number, R, Args...> {
  static R call(const slot& s, pass_t<Args>... args) {
    if constexpr (Number < 0) {
      return call_slot<R, Args...>(s, static_cast<pass_t<Args>>(args)...);
    } else {
      return heddle_hot(hot_tag<Data, Number, R, Args...>(), s.self,
                        static_cast<pass_t<Args>>(args)...);
    }
  }
};

/// Runs the handlers of variant V, which the bindings agree with when it starts.
template <class Plan, int V, class R, class... Args, int... I>
inline R run_variant(std::integer_sequence<int, I...>, topic_record& r, pass_t<Args>... args) {
  constexpr int len = sizeof...(I);
  const slot* const slots = r.begin;
  int ran = 0;
  [[maybe_unused]] bool halted = false;
  const auto one = [&]<int At>(std::integral_constant<int, At>) {
    using planned = planned_call<Plan, Plan::number_at(V, At), R, Args...>;
    ran = At + 1;
    if constexpr (std::is_void_v<R>) {
      planned::call(slots[At], static_cast<pass_t<Args>>(args)...);
    } else {
      halted = planned::call(slots[At], static_cast<pass_t<Args>>(args)...) == flow::halt;
      if (halted) return false;
    }
    return At + 1 == len || r.active == variants_of_plan<Plan>::at(V);
  };
  const bool whole = (one(std::integral_constant<int, I>()) && ...);
  if constexpr (std::is_void_v<R>) {
    if (!whole) [[unlikely]]
      run_slots<R, Args...>(slots + ran, r.end, static_cast<pass_t<Args>>(args)...);
  } else {
    if (halted) return flow::halt;
    if (whole) return flow::go_on;
    return run_slots<R, Args...>(slots + ran, r.end, static_cast<pass_t<Args>>(args)...);
  }
}

template <class T, class Plan, class R, class... Args>
inline R run_topic(topic_signature<R, Args...>, topic_record& r, pass_t<Args>... args) {
  constexpr int number = Plan::topic_of(topic_hash<T>);
  if constexpr (number >= 0) {
    constexpr planned_topic topic = Plan::topic(number);
    const variant* const active = r.active;
    const auto run = [&]<int V>(std::integral_constant<int, V>) {
      return run_variant<Plan, V, R, Args...>(std::make_integer_sequence<int, Plan::len_of(V)>(), r,
                                              static_cast<pass_t<Args>>(args)...);
    };
    constexpr int first = topic.first_variant;
    if (active == variants_of_plan<Plan>::at(first)) [[likely]]
      return run(std::integral_constant<int, first>());
    if constexpr (topic.variant_count > 1) {
      if (active == variants_of_plan<Plan>::at(first + 1))
        return run(std::integral_constant<int, first + 1>());
    }
    if constexpr (topic.variant_count > 2) {
      if (active == variants_of_plan<Plan>::at(first + 2))
        return run(std::integral_constant<int, first + 2>());
    }
  }
  return run_slots<R, Args...>(r.begin, r.end, static_cast<pass_t<Args>>(args)...);
}

}  // namespace heddle::detail

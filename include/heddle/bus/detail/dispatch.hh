// SPDX-License-Identifier: MIT
// How a raise runs handlers. Generic: it walks an array of {function, object}, with one indirect
// call for each. Merged: it calls the handlers that the plan expects directly, so that the compiler
// can inline them and the raises inside them. After each handler it compares the bindings with the
// plan; if they differ, the rest runs generically.
//
// These calls are never forced inline. A profile shows the raises that were taken, not all those in
// the source. If every place that raises a topic had to contain its handlers, the copies would
// multiply with every level of raises. The compiler decides by size, so each call adds at most the
// compiler's limit, however deep raises nest and however old the profile is.
#pragma once

#include <utility>

#include "heddle/base/compiler.hh"
#include "heddle/bus/detail/record.hh"
#include "heddle/bus/plan.hh"

namespace heddle::detail {

/// The function type behind a slot's any_function.
template <class R, class... Args>
using call_type = R (*)(void*, pass_t<Args>...);

template <class R, class... Args>
inline R call_slot(const slot& s, pass_t<Args>... args) {
  return reinterpret_cast<call_type<R, Args...>>(s.call)(s.self,
                                                         static_cast<pass_t<Args>>(args)...);
}

/// Runs these handlers in order until one halts.
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

/// Runs one binding of a record, a filter or a handler. Returns whether it halts the raise.
template <class R, class... Args>
inline flow run_binding(const topic_record& r, std::size_t at, pass_t<Args>... args) {
  if (r.infos[at].kind == slot_kind::filter)
    return call_slot<flow, Args...>(r.bound[at], static_cast<pass_t<Args>>(args)...);
  if constexpr (std::is_void_v<R>) {
    call_slot<R, Args...>(r.bound[at], static_cast<pass_t<Args>>(args)...);
    return flow::go_on;
  } else {
    return call_slot<R, Args...>(r.bound[at], static_cast<pass_t<Args>>(args)...);
  }
}

/// The single handler of a topic that has filters. It never calls a tombstone, whose type is that
/// of a handler.
template <class R, class... Args>
R run_filtered(void* self, pass_t<Args>... args) {
  const auto& r = *static_cast<const topic_record*>(self);
  flow answer = flow::go_on;
  for (std::size_t i = 0; i < r.bound.size() && answer == flow::go_on; ++i)
    if (r.infos[i].serial != 0)
      answer = run_binding<R, Args...>(r, i, static_cast<pass_t<Args>>(args)...);
  if constexpr (!std::is_void_v<R>) return answer;
}

/// One handler of a merged raise: called by its number in the plan, or through its slot where the
/// plan leaves a hole.
template <class Plan, int Number, class R, class... Args>
struct planned_call;
template <class Data, int Number, class R, class... Args>
struct planned_call<planned<Data>, Number, R, Args...> {
  [[gnu::always_inline]] static R call(const merged_topic& topic, std::size_t at,
                                       pass_t<Args>... args) {
    if constexpr (Number < 0) {
      return call_slot<R, Args...>(topic.begin[at], static_cast<pass_t<Args>>(args)...);
    } else {
      return heddle_hot(hot_tag<Data, Number, R, Args...>(), topic.self(at),
                        static_cast<pass_t<Args>>(args)...);
    }
  }
};

/// Runs the rest of a raise whose bindings have changed during it. It is out of line, so that a
/// function that merges many raises stays small.
template <class R, class... Args>
[[gnu::cold, gnu::noinline]] R run_rest(const merged_topic& topic, std::size_t ran,
                                        pass_t<Args>... args) {
  return run_slots<R, Args...>(topic.begin + ran, topic.end, static_cast<pass_t<Args>>(args)...);
}

/// Runs the handlers of variant V; the bindings match it at the start.
template <class Plan, int V, class R, class... Args, int... I>
[[gnu::always_inline]] inline R run_variant(std::integer_sequence<int, I...>,
                                            const merged_topic& topic, pass_t<Args>... args) {
  constexpr int len = sizeof...(I);
  int ran = 0;
  [[maybe_unused]] bool halted = false;
  const auto one = [&]<int At>(std::integral_constant<int, At>) __attribute__((always_inline)) {
    using call = planned_call<Plan, Plan::number_at(V, At), R, Args...>;
    ran = At + 1;
    if constexpr (std::is_void_v<R>) {
      call::call(topic, At, static_cast<pass_t<Args>>(args)...);
    } else {
      halted = call::call(topic, At, static_cast<pass_t<Args>>(args)...) == flow::halt;
      if (halted) return false;
    }
    return At + 1 == len || topic.active == variants_of_plan<Plan>::at(V);
  };
  const bool whole = (one(std::integral_constant<int, I>()) && ...);
  if constexpr (std::is_void_v<R>) {
    if (whole) [[likely]]
      return;
  } else {
    if (halted) return flow::halt;
    if (whole) [[likely]]
      return flow::go_on;
  }
  return run_rest<R, Args...>(topic, static_cast<std::size_t>(ran),
                              static_cast<pass_t<Args>>(args)...);
}

/// Whether another file may have a topic of the same name. Files with equal base names, or with a
/// common precompiled header, give equal names and so equal hashes; such a raise also compares the
/// topics.
template <class T>
inline constexpr bool shares_name = local_to_unit(type_name<T>.view());

/// Runs a topic: merged if the plan contains it and the bindings match, else generically. `find`
/// gives the topic's record.
template <class T, class Plan, class R, class... Args, class Find>
[[gnu::always_inline]] inline R run_topic(topic_signature<R, Args...>,
                                          [[maybe_unused]] const merged_block& merged, Find find,
                                          pass_t<Args>... args) {
  constexpr int number = Plan::topic_of(topic_hash<T>);
  const slot* begin = nullptr;
  const slot* end = nullptr;
  if constexpr (number >= 0) {
    constexpr planned_topic planned = Plan::topic(number);
    constexpr int first = planned.first_variant;
    using variants = variants_of_plan<Plan>;
    if (merged.plan == variants::id()) [[likely]] {
      const merged_topic& topic = merged.at(Plan::block_at(number));
      if constexpr (shares_name<T>) {
        if (topic.topic != &topic_info_of<T>) [[unlikely]] {
          const topic_record& r = find();
          return run_slots<R, Args...>(r.begin, r.end, static_cast<pass_t<Args>>(args)...);
        }
      }
      const auto run = [&]<int V>(std::integral_constant<int, V>) __attribute__((always_inline)) {
        return run_variant<Plan, V, R, Args...>(std::make_integer_sequence<int, Plan::len_of(V)>(),
                                                topic, static_cast<pass_t<Args>>(args)...);
      };
      const variant* const active = topic.active;
      if (active == variants::at(first)) [[likely]]
        return run(std::integral_constant<int, first>());
      if constexpr (planned.variant_count > 1) {
        if (active == variants::at(first + 1)) return run(std::integral_constant<int, first + 1>());
      }
      if constexpr (planned.variant_count > 2) {
        if (active == variants::at(first + 2)) return run(std::integral_constant<int, first + 2>());
      }
      begin = topic.begin;
      end = topic.end;
    }
  }
  if (begin == nullptr) {
    const topic_record& r = find();
    begin = r.begin;
    end = r.end;
  }
  return run_slots<R, Args...>(begin, end, static_cast<pass_t<Args>>(args)...);
}

}  // namespace heddle::detail

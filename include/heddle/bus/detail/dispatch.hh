// SPDX-License-Identifier: MIT
// How a raise runs handlers. Generic: it walks an array of {function, object}, with one indirect
// call for each. Merged: it calls the handlers that the plan expects directly, so that the compiler
// can inline them and the raises inside them. One word of the bus tells whether the bindings of all
// topics of a chain match the plan (chain_state). A raise compares it before its first handler and
// after each; if it differs, the rest runs generically.
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
  [[gnu::always_inline]] static R call(void* object, pass_t<Args>... args) {
    if constexpr (Number < 0) {
      return call_slot<R, Args...>(*static_cast<const slot*>(object),
                                   static_cast<pass_t<Args>>(args)...);
    } else {
      return heddle_hot(hot_tag<Data, Number, R, Args...>(), object,
                        static_cast<pass_t<Args>>(args)...);
    }
  }
};

/// Runs the handlers of variant V while the chain's state is `busy`, as it is at the start. If a
/// handler changes it, `rest(n)` runs those after the first n.
template <class Plan, int V, class R, class... Args, int... I, class Rest>
[[gnu::always_inline]] inline R run_variant(std::integer_sequence<int, I...>,
                                            const chain_state& state, chain_state busy,
                                            void* const* objects, Rest rest, pass_t<Args>... args) {
  constexpr int len = sizeof...(I);
  int ran = 0;
  [[maybe_unused]] bool halted = false;
  const auto one = [&]<int At>(std::integral_constant<int, At>) __attribute__((always_inline)) {
    using call = planned_call<Plan, Plan::number_at(V, At), R, Args...>;
    ran = At + 1;
    if constexpr (std::is_void_v<R>) {
      call::call(objects[At], static_cast<pass_t<Args>>(args)...);
    } else {
      halted = call::call(objects[At], static_cast<pass_t<Args>>(args)...) == flow::halt;
      if (halted) return false;
    }
    return At + 1 == len || state == busy;
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
  return rest(static_cast<std::size_t>(ran));
}

/// Whether another file may have a topic of the same name. Files with equal base names, or with a
/// common precompiled header, give equal names and so equal hashes; such a raise also compares the
/// topics.
template <class T>
inline constexpr bool shares_name = local_to_unit(type_name<T>.view());

}  // namespace heddle::detail

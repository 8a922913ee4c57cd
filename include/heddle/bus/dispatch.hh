// SPDX-License-Identifier: MIT
// How a raise runs handlers: a walk over an array of {function, object}, one indirect call each.
#pragma once

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

template <class T, class Plan, class R, class... Args>
inline R run_topic(topic_signature<R, Args...>, topic_record& r, pass_t<Args>... args) {
  return run_slots<R, Args...>(r.begin, r.end, static_cast<pass_t<Args>>(args)...);
}

}  // namespace heddle::detail

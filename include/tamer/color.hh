// SPDX-License-Identifier: MIT
// Closures in other colors, for Tame programs with several workers (Dabek and others, 2002,
// section 4). A closure has the color of its caller, and the first has color 0, so a program that
// names no color runs as on one thread.
//
//   tamer::initialize(tamer::several_workers);                // HEDDLE_WORKERS=4 counts now
//   tamer::in_color(tamer::color(f.value()), serve, f);       // serve(f) beside other colors
//
// A trigger from another color posts copies of its values to the color that made the event, which
// stores them. So a twait sees no other color, and needs no lock.
#pragma once

#include <concepts>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "heddle/core/detail/message.hh"
#include "heddle/core/scope.hh"
#include "tamer/function.hh"

namespace tamer {

using heddle::color;

/// Calls f(args...) in this color, later, also if it is the running one. The function and the
/// arguments are copied, so what several colors change must not be behind a pointer in them; an
/// event and an fd may be passed.
/// Thread: any worker's. Fails: tamer::loop() rethrows an exception that leaves f.
template <class F, class... Args>
  requires std::invocable<std::decay_t<F>&, std::decay_t<Args>...>
void in_color(color c, F&& f, Args&&... args) {
  auto call = [f = std::decay_t<F>(std::forward<F>(f)),
               kept = std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...)]() mutable {
    try {
      std::apply([&](auto&... a) { static_cast<void>(std::invoke(f, std::move(a)...)); }, kept);
    } catch (...) {
      heddle::tame::function_failed(0);
    }
  };
  heddle::post(c, std::move(call));
}

}  // namespace tamer

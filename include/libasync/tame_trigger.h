/* SPDX-License-Identifier: MIT
 * TRIGGER(cb, v...) calls a callback or triggers an event; dtrigger(cb, v...) does so from the
 * loop, after the running function has waited or ended.
 */
#pragma once

#include <tuple>
#include <utility>

#include "async.h"

#define TRIGGER(cb, ...) (*(cb))(__VA_ARGS__)
#define SIGNAL(cb, ...) (*(cb))(__VA_ARGS__)

template <class Callback, class... Values>
void dtrigger(Callback cb, Values... values) {
  tamer::at_asap(heddle::function_event<>(
      [cb = std::move(cb), kept = std::tuple<Values...>(std::move(values)...)]() mutable {
        std::apply([&](Values&... v) { (*cb)(std::move(v)...); }, kept);
      }));
}

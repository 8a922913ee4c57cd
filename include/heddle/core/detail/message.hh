// SPDX-License-Identifier: MIT
// Messages between colors: a call that runs in another color, behind the frames that the color has
// queued already. One sender's messages to one color run in the order in which they were sent.
//
//   post(color{7}, [n] { seen += n; });         // `seen` belongs to color 7
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "heddle/core/context.hh"
#include "heddle/core/worker.hh"

namespace heddle {

namespace detail {

/// A plain frame that makes one call and frees itself.
template <class F>
struct message final : frame {
  explicit message(F&& f) noexcept(std::is_nothrow_move_constructible_v<F>)
      : frame{&run, &drop, no_link, HEDDLE_AT_QUEUED, 0}, call(std::move(f)) {}
  static heddle_link run(frame* f, heddle_worker* at) {
    auto* const self = static_cast<message*>(f);
    F call = std::move(self->call);
    drop(f, at);
    call();
    return no_link;
  }
  static void drop(frame* f, heddle_worker* at) {
    auto* const self = static_cast<message*>(f);
    std::destroy_at(self);
    reinterpret_cast<worker*>(at)->memory.release(self, sizeof(message));
  }
  F call;
};

}  // namespace detail

/// Calls f in the color at this place of the table.
template <class F>
void send_message(worker& w, std::uint32_t place, F f) {
  auto* const m =
      new (w.memory.allocate(sizeof(detail::message<F>))) detail::message<F>(std::move(f));
  w.post_to(place, link_of(*m));
}

/// As send_message(), for a call that must not fail. Moving f must not throw.
template <class F>
void send_urgent_message(worker& w, std::uint32_t place, F f) noexcept {
  auto* const m =
      new (w.memory.allocate_urgent(sizeof(detail::message<F>))) detail::message<F>(std::move(f));
  w.post_to(place, link_of(*m));
}

/// Calls f in this color, later. f must not throw; it runs in the color's root context.
/// Thread: any worker's. Fails: failure (not_enough_memory) when memory has run out; nothing is
/// sent then.
template <class F>
  requires std::is_invocable_v<F&>
[[gnu::always_inline]] inline void post(color c, F f) {  // else f passes through memory
  worker& w = worker::here();
  send_message(w, w.place_of(c.number), std::move(f));
}

}  // namespace heddle

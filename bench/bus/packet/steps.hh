// SPDX-License-Identifier: MIT
// The bodies of the handlers, and how a file binds one. Only first.cc and second.cc include it.
#pragma once

#include "packet.hh"

namespace packets {

template <int Part>
void step<Part>::run(packet& p, std::uint32_t n) {
  ++count;
  bytes += p.len + n;
  p.stamps[Part & 7] = count;
}

template <int Part>
void last_step<Part>::run(packet& p, std::uint32_t n) {
  step<Part>::run(p, n);
  bus.template raise<arrived<Part / 3 + 1>>(p, n + 1);
}

template <int Part>
[[gnu::always_inline]] inline void bind_step(player::event_bus& b) {
  using topic = arrived<Part / 3>;
  if constexpr (Part == 2 || Part == 5) {
    b.bind<topic, &last_step<Part>::run>(new last_step<Part>(b), Part);
  } else {
    b.bind<topic, &step<Part>::run>(new step<Part>(), Part);
  }
}

}  // namespace packets

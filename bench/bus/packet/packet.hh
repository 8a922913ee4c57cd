// SPDX-License-Identifier: MIT
// Nine small handlers on the way of a packet, in two files: three topics with three handlers each,
// the last of which raises the next topic. An ordinary program would call the nine functions one
// after the other: main.cc does that, too.
#pragma once

#include "heddle/bus/bus.hh"
#include "player_bus.hh"

namespace packets {

struct packet {
  std::uint32_t len = 1400;
  std::uint32_t stamps[8] = {};
};

/// The topics on the way of a packet: 0, 1 and 2.
template <int Topic>
struct arrived : heddle::topic<packet&, std::uint32_t> {};

/// The state and the work of one handler. first.cc defines the even ones, second.cc the odd ones.
template <int Part>
struct step {
  void run(packet& p, std::uint32_t n);
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
};

/// The last handler of a topic raises the next topic.
template <int Part>
struct last_step : step<Part> {
  explicit last_step(player::event_bus& b) : bus(b) {}
  void run(packet& p, std::uint32_t n);
  player::event_bus& bus;
};

/// Each file binds its own handlers; they live as long as the process.
void bind_first(player::event_bus& b);
void bind_second(player::event_bus& b);

}  // namespace packets

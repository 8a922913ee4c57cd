// SPDX-License-Identifier: MIT
// The program of bus/parts.hh as one really is: its 54 handlers stand in nine files that do not
// know each other, so that only a plan and link-time optimization can bring them together.
#pragma once

#include "heddle/bus/bus.hh"
#include "player_bus.hh"

namespace chain {

struct message {
  std::uint32_t len = 1400;
  std::uint32_t stamps[8] = {};
};

template <int Topic>
struct step : heddle::topic<message&, std::uint32_t> {};

inline constexpr int topics = 18;
inline constexpr int short_chain = 3;
inline constexpr int parts = 9;
inline constexpr int handlers = 54;
inline constexpr int handlers_of[topics] = {3, 4, 4, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2};

struct place {
  int topic;
  int position;  ///< among the topic's handlers
  bool last;
};
consteval place place_of(int handler) {
  int topic = 0;
  while (handler >= handlers_of[topic]) handler -= handlers_of[topic++];
  return {topic, handler, handler + 1 == handlers_of[topic]};
}

/// What all parts share.
struct program {
  player::event_bus bus;
  int topics_wanted = short_chain;
};

/// Binds the handlers of one part; each is defined in a file of its own.
template <int Part>
void bind_part(program& p);

}  // namespace chain

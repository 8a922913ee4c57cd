// SPDX-License-Identifier: MIT
// The legal moves of a connection, and the states' names.
#include "tcp/pcb.hh"

#include <array>

#include "heddle/base/error.hh"

namespace heddle::tcp {

namespace {

constexpr unsigned bit(state s) { return 1u << static_cast<unsigned>(s); }

/// For each state those that may follow.
constexpr std::array<unsigned, 11> moves = {
    /* closed */ bit(state::syn_sent) | bit(state::syn_received) | bit(state::established),
    /* listen */ 0,
    /* syn_sent */ bit(state::established) | bit(state::syn_received) | bit(state::closed),
    /* syn_received */ bit(state::established) | bit(state::closed),
    /* established */ bit(state::fin_wait_1) | bit(state::close_wait) | bit(state::closed),
    /* fin_wait_1 */ bit(state::fin_wait_2) | bit(state::closing) | bit(state::time_wait) |
        bit(state::closed),
    /* fin_wait_2 */ bit(state::time_wait) | bit(state::closed),
    /* close_wait */ bit(state::last_ack) | bit(state::closed),
    /* closing */ bit(state::time_wait) | bit(state::closed),
    /* last_ack */ bit(state::closed),
    /* time_wait */ bit(state::closed),
};

}  // namespace

bool legal(state from, state to) noexcept {
  return (moves[static_cast<std::size_t>(from)] & bit(to)) != 0;
}

void move(pcb& c, state to) {
  HEDDLE_ASSERT(legal(c.now, to), "a bug of room tcp: pcb.hh has the legal moves");
  c.now = to;
}

std::string_view name_of(state s) noexcept {
  static constexpr std::array<std::string_view, 11> names = {
      "closed",     "listen",     "syn-sent", "syn-received", "established", "fin-wait-1",
      "fin-wait-2", "close-wait", "closing",  "last-ack",     "time-wait"};
  return names[static_cast<std::size_t>(s)];
}

std::string_view name_of(ending e) noexcept {
  static constexpr std::array<std::string_view, 6> names = {"finished",    "reset",     "refused",
                                                            "unreachable", "timed out", "aborted"};
  return names[static_cast<std::size_t>(e)];
}

}  // namespace heddle::tcp

// SPDX-License-Identifier: MIT
// Checks the moves of a state machine. The states are an enumeration, and the legal moves a
// function is_legal(from, to) beside it:
//
//   enum class lamp : std::uint8_t { off, on, broken };
//   constexpr bool is_legal(lamp from, lamp to) { return from != lamp::broken && from != to; }
//   void burn_out() { check_move(now_, lamp::broken); now_ = lamp::broken; }
#pragma once

#include "heddle/base/error.hh"
#include "heddle/base/sanitizer.hh"

namespace heddle {

/// Whether this build checks moves: one with a sanitizer, or without NDEBUG.
#if !defined(NDEBUG) || HEDDLE_ASAN || HEDDLE_TSAN
inline constexpr bool checks_moves = true;
#else
inline constexpr bool checks_moves = false;
#endif

/// Fails an assertion if the move is not legal and this build checks moves.
template <class State>
void check_move(State from, State to) {
  if constexpr (checks_moves)
    HEDDLE_ASSERT(is_legal(from, to), "a state makes a legal move: its header lists them");
}

}  // namespace heddle

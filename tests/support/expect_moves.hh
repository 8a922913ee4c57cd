// SPDX-License-Identifier: MIT
// Checks the table of a state machine's legal moves (heddle/base/detail/legal_move.hh).
#pragma once

#include <array>
#include <cstddef>

#include "support/test.hh"

namespace heddle::test {

/// `rows` has the legal moves as 'x': a row for each state that they begin at, a column for each
/// that they lead to.
template <class State, std::size_t Size>
void expect_moves(const std::array<const char*, Size>& rows) {
  for (std::size_t from = 0; from < Size; ++from)
    for (std::size_t to = 0; to < Size; ++to)
      EXPECT_EQ(is_legal(static_cast<State>(from), static_cast<State>(to)), rows[from][to] == 'x')
          << from << " to " << to;
}

}  // namespace heddle::test

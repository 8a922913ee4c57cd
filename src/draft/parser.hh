// SPDX-License-Identifier: MIT
// Tokens to tree, by descent. After an error it goes on at the next line or closing brace, and it
// reports at most one error a statement.
#pragma once

#include "draft/item.hh"
#include "draft/lexer.hh"

namespace heddle::draft {

/// Nothing may nest deeper, so that no pass runs out of stack. `nesting_max` bounds blocks,
/// parentheses, subscripts, types, records inside of records, modules that use modules, and merged
/// functions inside of each other; `chain_max` bounds operators in a row, and constants that are
/// computed from constants.
inline constexpr std::uint32_t nesting_max = 200;
inline constexpr std::uint32_t chain_max = 1000;

[[nodiscard]] file_tree parse(const source::source_file& file, const lexed& tokens,
                              source::diagnostics& report);

}  // namespace heddle::draft

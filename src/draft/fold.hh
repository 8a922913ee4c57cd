// SPDX-License-Identifier: MIT
// Constant arithmetic as Draft means it. One table: the folding pass and the interpreter use it,
// and a test holds it against all 8-bit operands.
#pragma once

#include <optional>

#include "draft/types.hh"

namespace heddle::draft {

/// a `op` b of two numbers of type `t` (of their common type in a comparison); nothing where it is
/// a fault.
[[nodiscard]] std::optional<__int128> fold_binary(word op, const type& t, __int128 a, __int128 b);
[[nodiscard]] std::optional<__int128> fold_unary(word op, const type& t, __int128 a);
/// The number as it is in `t`, where the bits that do not fit are dropped.
[[nodiscard]] __int128 wrap_to(const type& t, __int128 n);
/// Whether `t` holds the number.
[[nodiscard]] bool fits(const type& t, __int128 n);

}  // namespace heddle::draft

// SPDX-License-Identifier: MIT
// "Did you mean": finds the name closest to a mistyped word.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace heddle::source {

/// The name with the fewest changed, added or missing letters. Empty if no name is near: two
/// letters may differ, in a word of less than four letters only one.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> names);

}  // namespace heddle::source

// SPDX-License-Identifier: MIT
// The page of each of the translator's diagnostics: `heddle explain T0203`.
#pragma once

#include <span>
#include <string_view>

namespace heddle::tame {

struct explanation {
  std::string_view code;
  std::string_view text;  ///< the mistake, the reason, and a rewrite
};

[[nodiscard]] std::span<const explanation> explanations() noexcept;
/// The text of one page, or nothing.
[[nodiscard]] std::string_view explain(std::string_view code) noexcept;

}  // namespace heddle::tame

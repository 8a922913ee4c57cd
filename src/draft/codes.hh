// SPDX-License-Identifier: MIT
// The numbers of Draft's errors, with the page that `heddle explain` shows for each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace heddle::draft {

struct code_page {
  std::string_view code;  ///< "D0101"
  std::string_view title;
  std::string_view text;  ///< the meaning, an example that is wrong, and how to mend it
};

[[nodiscard]] std::span<const code_page> code_pages() noexcept;

}  // namespace heddle::draft

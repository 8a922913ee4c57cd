// SPDX-License-Identifier: MIT
// JSON for the language server: a value that was read, and text as JSON has it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::draft {

struct json {
  enum class form : std::uint8_t { null, boolean, number, text, list, object };
  form kind = form::null;
  bool yes = false;
  double number = 0;
  std::string text;                ///< the text, or the number as it was written
  std::vector<json> list;          ///< values of a list or an object
  std::vector<std::string> names;  ///< names of an object's values

  /// The member of this name; a null value where there is none.
  [[nodiscard]] const json& operator[](std::string_view name) const noexcept;
};

/// Nothing for a text that is not one JSON value.
[[nodiscard]] std::optional<json> read_json(std::string_view text);
/// The text in quotes, with escapes.
[[nodiscard]] std::string json_text(std::string_view s);

}  // namespace heddle::draft

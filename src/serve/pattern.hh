// SPDX-License-Identifier: MIT
// The paths that a setting is about: /assets/* (all below), *.woff2 (all with this ending), or one
// path literally. The server compares paths as clients write them, without the query.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::serve {

class path_pattern {
 public:
  /// Throws bad_setting.
  explicit path_pattern(std::string_view text);

  [[nodiscard]] bool matches(std::string_view path) const noexcept {
    return rest_of(path).has_value();
  }
  /// The part of the path that the `*` matches; nothing if the pattern does not match.
  [[nodiscard]] std::optional<std::string_view> rest_of(std::string_view path) const noexcept;
  [[nodiscard]] bool has_star() const noexcept { return star_ != star::none; }

 private:
  enum class star : std::uint8_t { none, last, first };
  star star_ = star::none;
  std::string fixed_;
};

}  // namespace heddle::serve

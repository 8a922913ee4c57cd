// SPDX-License-Identifier: MIT
// The paths that a setting is about: /assets/* (all below), *.woff2 (all with this ending), or one
// path literally. matches() and rest_of() compare a path as it is given, without the query;
// leads_to() also as it is decoded, for settings that a client must not evade by writing a path
// another way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::serve {

class path_pattern {
 public:
  /// Reads a pattern. Throws bad_setting.
  explicit path_pattern(std::string_view text);

  [[nodiscard]] bool matches(std::string_view path) const noexcept {
    return rest_of(path).has_value();
  }
  /// The part of the path that the `*` matches; nothing if the pattern does not match.
  [[nodiscard]] std::optional<std::string_view> rest_of(std::string_view path) const noexcept;
  /// Whether a request's path leads to such a path, however written: %6c is l, and // is /. True
  /// for a path that cannot be decoded, because a server behind this one may understand it.
  [[nodiscard]] bool leads_to(std::string_view raw) const;
  [[nodiscard]] bool has_star() const noexcept { return star_ != star::none; }
  /// The folder that every path of this pattern is below; nothing for *.ending, which is anywhere.
  [[nodiscard]] std::optional<std::string> folder() const;
  /// The pattern as it is written.
  [[nodiscard]] std::string text() const;
  friend bool operator==(const path_pattern&, const path_pattern&) = default;

 private:
  enum class star : std::uint8_t { none, last, first };
  star star_ = star::none;
  std::string fixed_;
};

}  // namespace heddle::serve

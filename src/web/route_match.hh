// SPDX-License-Identifier: MIT
// A request's path split into segments for a router, and the segments that a pattern named.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::http {

/// Thread: one color. Owns: the decoded path; segments are views of it or of the request's head.
class route_match {
 public:
  static constexpr std::size_t segments_max = 32;  // more segments match only {name...}

  /// Splits a path and then decodes each segment, so that an encoded slash does not separate
  /// segments. Removes dot segments. Returns the error, or "".
  [[nodiscard]] std::string_view take(std::string_view raw);

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::string_view segment(std::size_t i) const noexcept { return segments_[i]; }
  /// The rest of the path from a segment on.
  [[nodiscard]] std::string_view tail(std::size_t i) const noexcept;
  /// Whether the path has more segments than segments_max; the last one then holds the rest.
  [[nodiscard]] bool cut() const noexcept { return cut_; }

  /// Whether the path is below this prefix. Empty segments are skipped, as file systems do, so that
  /// "//" cannot bypass a middleware of the prefix.
  [[nodiscard]] bool beneath(const std::vector<std::string>& prefix) const noexcept;

  /// Sets the names of a pattern's parameters, in their order.
  void name_params(const std::vector<std::string>& names) noexcept { names_ = &names; }
  /// Sets the segment that a parameter matched; `tail` for {name...}.
  void set_param(std::size_t i, std::string_view value) noexcept { params_[i] = value; }
  [[nodiscard]] std::string_view param(std::string_view name) const;

 private:
  [[nodiscard]] std::string_view take_decoded(std::string_view raw);
  void split(std::string_view path);

  std::string room_;
  std::string_view whole_;
  std::array<std::string_view, segments_max> segments_;
  std::array<std::string_view, segments_max> params_;
  std::size_t count_ = 0;
  bool cut_ = false;
  const std::vector<std::string>* names_ = nullptr;
};

}  // namespace heddle::http

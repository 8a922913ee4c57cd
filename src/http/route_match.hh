// SPDX-License-Identifier: MIT
// A request's path taken apart for a router, and which of its parts a pattern named.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::http {

/// Thread: one color. Owns: the decoded path; parts are views of it or of the request's head.
class route_match {
 public:
  static constexpr std::size_t segments_max = 32;  // more are no route's but a tail's

  /// Splits and decodes: each segment is decoded after the path was split, so an encoded slash
  /// separates nothing. Dot segments are removed. Gives what is wrong, "" when nothing is.
  [[nodiscard]] std::string_view take(std::string_view raw);

  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::string_view segment(std::size_t i) const noexcept { return segments_[i]; }
  /// Everything from a segment on.
  [[nodiscard]] std::string_view tail(std::size_t i) const noexcept;
  /// There are more segments than segments_max; the last one holds the rest.
  [[nodiscard]] bool cut() const noexcept { return cut_; }

  /// Whether it lies beneath these. Empty segments count as none, as they do to file systems, so
  /// that what stands before such a handler is not passed by on "//".
  [[nodiscard]] bool beneath(const std::vector<std::string>& prefix) const noexcept;

  /// The names that a pattern gave, in the order in which its parameters stand.
  void name_params(const std::vector<std::string>& names) noexcept { names_ = &names; }
  /// The segment that a parameter took; `tail` for the last one.
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

// SPDX-License-Identifier: MIT
// The first lines of most answers: the status line, the Server field and the Date field, which
// changes once a second.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/base/clock.hh"
#include "heddle/http/date.hh"

namespace heddle::http {

/// Thread: one color. It reads the wall clock at most ten times a second. Views are valid until the
/// next call.
class answer_opening {
 public:
  explicit answer_opening(std::string_view server_name);

  /// The line "Server: ...", or nothing.
  [[nodiscard]] std::string_view fixed_lines() const noexcept { return fixed_lines_; }
  /// The line "Date: ...".
  [[nodiscard]] std::string_view date_text() noexcept;
  /// The fixed lines as HPACK, for HTTP/2.
  [[nodiscard]] std::string_view packed_fixed_lines() const noexcept { return packed_fixed_; }
  [[nodiscard]] std::string_view packed_date();
  /// Status line 200, the fixed lines and the date; rebuilt once a second.
  [[nodiscard]] std::string_view of_success();

 private:
  std::string fixed_lines_;
  std::string packed_fixed_;
  std::string packed_date_;
  std::int64_t packed_second_ = -1;
  std::string success_;
  std::int64_t success_second_ = -1;
  date_line date_;
  std::int64_t wall_second_ = 0;
  time_point wall_read_at_ = time_point::min();
};

}  // namespace heddle::http

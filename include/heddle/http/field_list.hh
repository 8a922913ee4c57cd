// SPDX-License-Identifier: MIT
// A list of header fields in the order in which they were added. Each field is checked when it is
// added: the name must be a token, and the value must not contain a line end (RFC 9110 section
// 5.5).
#pragma once

#include <string>
#include <string_view>

namespace heddle::http {

/// Whether a field tells how a connection or a body is framed. The connection sends such fields
/// itself, so handlers may not.
[[nodiscard]] bool is_framing_field(std::string_view name) noexcept;

/// Calls f(name, value) for each "Name: value\r\n" of `lines`, which were checked before.
template <class F>
void each_field_line(std::string_view lines, F&& f) {
  while (!lines.empty()) {
    const std::size_t colon = lines.find(": "), end = lines.find("\r\n", colon);
    if (end == lines.npos) return;
    f(lines.substr(0, colon), lines.substr(colon + 2, end - colon - 2));
    lines.remove_prefix(end + 2);
  }
}

/// Thread: one at a time. Owns: the text of all fields in the form that HTTP/1 sends, so that one
/// copy writes them; other protocols read names and values with each_field_line().
class field_list {
 public:
  /// Adds a field. False, and adds nothing, if the field must not be sent.
  [[nodiscard]] bool add(std::string_view name, std::string_view value);
  void clear() noexcept { lines_.clear(); }
  [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }

  template <class F>
  void each(F&& f) const {
    each_field_line(lines_, f);
  }
  /// All fields, each as "Name: value\r\n".
  [[nodiscard]] std::string_view lines() const noexcept { return lines_; }

 private:
  std::string lines_;
};

}  // namespace heddle::http

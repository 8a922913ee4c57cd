// SPDX-License-Identifier: MIT
// A strict reader of JSON (RFC 8259): small documents from a peer that is not trusted with memory,
// such as a certificate authority or a source of a page. Names may not repeat, because two programs
// could then read one document differently; nesting and the number of values are bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::http::detail {

struct json_limits {
  std::size_t depth_max = 32;       ///< lists and objects inside each other
  std::size_t values_max = 10'000;  ///< values of a whole document
};

/// One value. Thread: any; it owns everything below it. Questions about a value of another kind
/// get an empty answer, so that a missing member needs no case of its own.
class json {
 public:
  enum class kind : std::uint8_t { null, boolean, number, text, list, object };

  /// Reads a whole text. Fails: bad_message, with the byte at which the text is wrong.
  [[nodiscard]] static json parse(std::string_view text, const json_limits& bounds = {});

  [[nodiscard]] kind what() const noexcept { return kind_; }
  /// The member of this name; a null value if there is none.
  [[nodiscard]] const json& operator[](std::string_view name) const noexcept;
  [[nodiscard]] std::string_view text() const noexcept {
    return kind_ == kind::text ? std::string_view(text_) : std::string_view();
  }
  [[nodiscard]] bool truth() const noexcept { return kind_ == kind::boolean && number_ != 0; }
  [[nodiscard]] double number() const noexcept { return kind_ == kind::number ? number_ : 0; }
  /// A number as the document writes it, so that no digit is lost.
  [[nodiscard]] std::string_view number_text() const noexcept {
    return kind_ == kind::number ? std::string_view(text_) : std::string_view();
  }
  /// The values of a list, or of an object's members.
  [[nodiscard]] const std::vector<json>& items() const noexcept { return items_; }
  /// The names of an object's members, in the order of items().
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

 private:
  friend class json_reader;

  kind kind_ = kind::null;
  double number_ = 0;
  std::string text_;
  std::vector<json> items_;
  std::vector<std::string> names_;
};

}  // namespace heddle::http::detail

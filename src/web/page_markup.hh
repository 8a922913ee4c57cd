// SPDX-License-Identifier: MIT
// Follows the HTML of a page up to each of its places, because a value must be escaped for where it
// lands: in text, in a quoted attribute, or in an attribute that holds a URL. A value is refused
// where no escaping is safe: in a script, in a tag, in an attribute without quotes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::http {

/// How a place writes its value.
enum class page_escape : std::uint8_t {
  none,       ///< as it is: {{{name}}}, and all places of plain text
  markup,     ///< & < > " ' as entities
  whole_url,  ///< a URL begins here: only known schemes, then as markup
  url_part,   ///< inside a URL: percent-encoded, slashes stay
};

/// Appends a value as a place writes it. A URL whose scheme is not http, https, mailto or tel, such
/// as "javascript:", becomes "#".
void append_escaped_value(std::string& out, std::string_view value, page_escape how);

/// Thread: any; it is a value.
class page_markup {
 public:
  /// Reads literal text of the page.
  void read(std::string_view text);
  /// Reads a value at this point, and gives its escape. If no value may be here, `why` gets the
  /// reason.
  [[nodiscard]] page_escape place(std::string& why);
  /// Notes a value that is written as it is.
  void raw_place() noexcept { begins_ = false; }
  /// Whether the point is in the text of the document, outside of tags.
  [[nodiscard]] bool in_text() const noexcept { return at_ == where::text; }
  /// Whether what follows may follow both readers: a section must end where it began.
  [[nodiscard]] bool same_point(const page_markup& other) const noexcept;

 private:
  enum class where : std::uint8_t {
    text,
    opening,    // behind '<'
    name,       // in the name of a tag
    inside,     // between the attributes of a tag
    attribute,  // in the name of an attribute
    equals,     // behind '='
    quoted,     // in a value in quotes
    bare,       // in a value without quotes
    code,       // in a script or a style
    comment,
  };
  void step(char c);
  void end_tag();
  void begin_value(char quote);

  where at_ = where::text;
  std::string tag_;        // in lower case
  std::string attribute_;  // in lower case
  std::string tail_;       // the last characters: of a comment, of code, of a URL's beginning
  char quote_ = 0;
  bool in_url_ = false;
  bool begins_ = false;  // the value has no character yet
};

}  // namespace heddle::http

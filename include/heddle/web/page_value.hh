// SPDX-License-Identifier: MIT
// The values that a page shows: a text, a list of values, or a record of named values, nested as
// deep as the program likes.
//
//   http::page_value one;
//   one.set("title", "Rain").set("url", "/rain");
//   http::page_value news = http::page_value::list();
//   news.add(std::move(one));
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::http {

/// Thread: any; it is a value and owns everything below it.
/// Fails: add() to a value that is no list, and set() to one that is no record, are misuses, which
///   an assertion reports. A value that is nothing becomes a list or a record by them.
class page_value {
 public:
  enum class kind : std::uint8_t { nothing, text, list, record };

  /// Nothing: a page shows no character for it, and leaves its section out.
  page_value() noexcept = default;
  page_value(std::string text) : kind_(kind::text), text_(std::move(text)) {}
  page_value(std::string_view text) : page_value(std::string(text)) {}
  page_value(const char* text) : page_value(std::string(text)) {}
  /// `true` is the text "true"; `false` is nothing, so that its section is left out.
  template <std::same_as<bool> Truth>
  page_value(Truth truth) {
    if (truth) *this = page_value("true");
  }
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  page_value(Number number) : page_value(std::to_string(number)) {}

  /// An empty list, whose section is left out until a value is added.
  [[nodiscard]] static page_value list() { return page_value(kind::list); }
  /// A record without values.
  [[nodiscard]] static page_value record() { return page_value(kind::record); }
  /// Reads a JSON text: objects become records, null and false nothing, and numbers the text that
  /// the document has. Fails: throws failure(bad_message), which names the byte, for a text that is
  /// not JSON, repeats a name, nests more than 32 levels or holds more than 10,000 values.
  [[nodiscard]] static page_value of_json(std::string_view text);

  /// Appends a value to this list.
  page_value& add(page_value item);
  /// Sets a value of this record; replaces the one of the same name.
  page_value& set(std::string name, page_value value);

  [[nodiscard]] kind what() const noexcept { return kind_; }
  /// The text; empty for all other kinds.
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  /// The values of a list, or of a record in the order of names().
  [[nodiscard]] const std::vector<page_value>& items() const noexcept { return items_; }
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  /// A record's value; null if the record has no such name, or the value is no record.
  [[nodiscard]] const page_value* find(std::string_view name) const noexcept;
  /// Whether a section of this value is shown: it is a record, a text that is not empty, or a list
  /// that is not empty.
  [[nodiscard]] bool shows() const noexcept {
    return kind_ == kind::record || !text_.empty() || !items_.empty();
  }

 private:
  explicit page_value(kind what) noexcept : kind_(what) {}

  kind kind_ = kind::nothing;
  std::string text_;
  std::vector<page_value> items_;
  std::vector<std::string> names_;
};

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// Puts values into the texts of sources. Values come from visitors, so a URL is judged segment by
// segment once each is whole: "." and ".." would lead to another path than the author wrote.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "heddle/base/error.hh"
#include "heddle/http/headers.hh"
#include "heddle/http/uri.hh"
#include "heddle/web/page_files.hh"

namespace heddle::http {
namespace {

failure bad_source_value(const std::string& what) {
  return failure(std::make_error_code(std::errc::invalid_argument), what);
}

/// Calls literal(c, n) for each byte that is no value, which n bytes of the text stand for, and
/// value(v) for each value.
template <class Literal, class Value>
void fill_text(const source_text& from, Literal literal, Value value) {
  const std::string& text = from.text();
  for (std::size_t i = 0; i != text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (text[i] != '$' || !(next == '$' || (next >= '1' && next <= '9'))) {
      literal(text[i], std::size_t{1});
      continue;
    }
    ++i;
    const auto index = static_cast<std::size_t>(next - '1');
    if (next == '$') {
      literal('$', std::size_t{2});
    } else if (index < from.arguments().size()) {
      value(std::string_view(from.arguments()[index]));
    } else {
      throw bad_source_value("the text has " + std::string{'$', next} + ", and the source only " +
                             std::to_string(from.arguments().size()) + " values");
    }
  }
}

/// The length of "scheme://" and what follows up to the path; 0 for a text that begins with it.
std::size_t length_before_path(std::string_view text) {
  const std::size_t colon = text.find_first_of(":/?#");
  if (colon == text.npos || text.substr(colon, 3) != "://") return 0;
  return std::min(text.find_first_of("/\\?#", colon + 3), text.size());
}

/// Whether a server may leave this segment out of the path, or the one before it too. Some drop
/// everything behind a ';' first.
bool changes_path(std::string_view segment) {
  for (const std::string_view end : {";", "%3B", "%3b"})
    segment = segment.substr(0, segment.find(end));
  std::size_t dots = 0;
  while (!segment.empty()) {
    if (segment.front() == '.') {
      segment.remove_prefix(1);
    } else if (equal_ignoring_case(segment.substr(0, 3), "%2e")) {
      segment.remove_prefix(3);
    } else {
      return false;
    }
    ++dots;
  }
  return dots <= 2;
}

/// Follows the path of a URL while it is written.
class url_filler {
 public:
  explicit url_filler(std::string_view text) : before_path_(length_before_path(text)) {}

  void literal(char c, std::size_t of_text) {
    const bool of_path = seen_ >= before_path_ && !ended_;
    seen_ += of_text;
    if (of_path && (c == '/' || c == '\\' || c == '?' || c == '#')) end_segment();
    ended_ = ended_ || (of_path && (c == '?' || c == '#'));
    out += c;
    if (of_path && (c == '/' || c == '\\')) begin_ = out.size();
  }
  void value(std::string_view v) {
    seen_ += 2;
    append_encoded(out, v);
    has_value_ = has_value_ || (seen_ > before_path_ && !ended_);
  }
  void end_segment() {
    if (has_value_ && changes_path(std::string_view(out).substr(begin_)))
      throw bad_source_value("its values make '" + out.substr(begin_) +
                             "' a segment of the path; a value that is empty, '.' or '..' would "
                             "lead to another path");
    has_value_ = false;
  }

  std::string out;

 private:
  std::size_t before_path_;
  std::size_t seen_ = 0;  // bytes of the text
  std::size_t begin_ = 0;
  bool has_value_ = false;
  bool ended_ = false;
};

}  // namespace

std::string source_text::filled(void (*append)(std::string& out, std::string_view value)) const {
  std::string out;
  fill_text(
      *this, [&](char c, std::size_t) { out += c; }, [&](std::string_view v) { append(out, v); });
  return out;
}

std::string source_text::filled_url() const {
  url_filler to(text_);
  fill_text(
      *this, [&](char c, std::size_t n) { to.literal(c, n); },
      [&](std::string_view v) { to.value(v); });
  to.end_segment();
  return std::move(to.out);
}

}  // namespace heddle::http

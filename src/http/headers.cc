// SPDX-License-Identifier: MIT
// Header names by number and by text, and the syntax of comma-separated lists.
#include "heddle/http/headers.hh"

#include "heddle/http/detail/charset.hh"
#include "http/header_table.hh"
#include "http/scan.hh"

namespace heddle::http {
namespace {

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

// The position where the first element of `text` ends: at a comma outside quotes, or at the end.
std::size_t element_end(std::string_view text) {
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (quoted && text[at] == '\\') ++at;
    if (!quoted && text[at] == ',') return at;
  }
  return text.size();
}

}  // namespace

std::string_view name_of(header_id id) {
  return detail::header_names[static_cast<std::size_t>(id)];
}

header_id header_id_of(std::string_view name) {
  if (!token_valid(name) || name.size() > detail::known_name_bytes_max) return header_id::other;
  // `recognise` reads bytes before a short name, so the name is copied behind a line end.
  std::array<char, 4 + detail::known_name_bytes_max> line{'\r', '\n', '\r', '\n'};
  std::memcpy(line.data() + 4, name.data(), name.size());
  return detail::recognise(line.data() + 4, name.size());
}

bool equal_ignoring_case(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  for (std::size_t at = 0; at < left.size(); ++at) {
    if (lower(left[at]) != lower(right[at])) return false;
  }
  return true;
}

bool token_valid(std::string_view text) {
  return !text.empty() && detail::all(text, detail::token_byte);
}

// The wide search also stops at tabs, which are valid; every other byte where it stops is invalid.
bool value_valid(std::string_view text) {
  const char* at = text.data();
  const char* end = at + text.size();
  while (true) {
    at = detail::find<detail::value_end>(at, end, text.data());
    if (at == end) return true;
    if (*at++ != '\t') return false;
  }
}

bool take_list_element(std::string_view& rest, std::string_view& element) {
  while (!rest.empty()) {
    std::size_t end = element_end(rest);
    element = detail::trim_ows(rest.substr(0, end));
    rest.remove_prefix(end == rest.size() ? end : end + 1);
    if (!element.empty()) return true;
  }
  return false;
}

bool list_has_token(std::string_view list, std::string_view token) {
  std::string_view element;
  while (take_list_element(list, element)) {
    if (equal_ignoring_case(element, token)) return true;
  }
  return false;
}

}  // namespace heddle::http

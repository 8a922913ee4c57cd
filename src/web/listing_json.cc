// SPDX-License-Identifier: MIT
// Writes a listing as one JSON object, in the order in which the names come.
#include "web/listing_json.hh"

#include <ctime>

#include "heddle/probe/json.hh"

namespace heddle::http {
namespace {

/// How many bytes the character at the beginning of a text has; 0 where it is no UTF-8 (RFC 3629).
std::size_t utf8_size(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (std::size_t i = 1; i != size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(1);  // no second spelling, no surrogate, nothing above U+10FFFF
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
    return 0;
  return size;
}

std::string as_utf8(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    const std::size_t size = utf8_size(name);
    text += size == 0 ? "\xef\xbf\xbd" : name.substr(0, size);
    name.remove_prefix(size == 0 ? 1 : size);
  }
  return text;
}

}  // namespace

std::string listing_json(std::string_view path, const std::vector<listed_name>& names,
                         std::size_t left_out) {
  std::string text = "{\"path\":" + json_quoted(as_utf8(path)) + ",\"entries\":[";
  bool first = true;
  for (const listed_name& each : names) {
    const bool folder = each.entry.type == entry_type::directory;
    ((text += first ? "{\"name\":" : ",\n{\"name\":") += json_quoted(as_utf8(each.entry.name)));
    text += folder ? ",\"type\":\"folder\"" : ",\"type\":\"file\"";
    first = false;
    if (each.modified != 0) {
      if (!folder) (text += ",\"size\":") += std::to_string(each.size);
      const std::time_t at = each.modified;
      std::tm parts{};
      ::gmtime_r(&at, &parts);
      char when[32];
      text += ",\"modified\":\"";
      text.append(when, std::strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts));
      text += '"';
    }
    text += '}';
  }
  return text += "],\"left_out\":" + std::to_string(left_out) + "}\n";
}

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// Paths: whatever is accepted has to be safe to open beneath a root, and has to come back the same
// when it is encoded for a link and decoded again. Queries and forms must stay inside the input.
// The first byte chooses the rules.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/http/uri.hh"

namespace {

using namespace heddle::http;

void demand(bool condition) {
  if (!condition) std::abort();
}

void demand_safe(std::string_view path, const path_rules& rules) {
  demand(path.starts_with('/'));
  demand(path.find('\\') == path.npos || rules.encoded_backslash);
  demand(path.find('\0') == path.npos);
  for (char c : path) demand(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  std::size_t at = 1;
  while (at <= path.size()) {
    std::size_t end = path.find('/', at);
    bool last = end == path.npos;
    if (last) end = path.size();
    std::string_view segment = path.substr(at, end - at);
    demand(segment != "." && segment != "..");
    demand(!segment.empty() || last || !rules.merge_slashes);
    at = end + 1;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  path_rules rules{(data[0] & 1) != 0 ? encoded_slash::keep : encoded_slash::refuse,
                   (data[0] & 2) == 0, (data[0] & 4) != 0};
  std::string raw(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::vector<char> room(raw.size());
  if (auto path = decode_path(raw, room, rules)) {
    demand_safe(*path, rules);
    demand(path->size() <= raw.size());
    std::string link;
    append_encoded_path(link, *path);
    // A kept "%2F" is text of the path by now, so its percent sign is encoded like any other.
    std::vector<char> again(link.size());
    auto back = decode_path(link, again, rules);
    demand(back.has_value() && *back == *path);
    std::vector<char> small(path->size() / 2);
    auto cut = decode_path(raw, small, rules);
    demand(cut.has_value() ? *cut == *path : cut.error() == path_problem::too_long);
  } else {
    demand(!describe(path.error()).empty());
  }
  std::string_view rest = split_target(raw).query;
  query_pair pair;
  while (take_query_pair(rest, pair)) {
    auto value = decode_form(pair.value, room);
    if (!value) continue;
    std::string encoded;
    append_encoded(encoded, *value);
    std::vector<char> again(encoded.size());
    demand(decode_form(encoded, again).value() == *value);
  }
  std::string page;
  append_html(page, raw);
  demand(page.find_first_of("<>\"'") == page.npos);
  return 0;
}

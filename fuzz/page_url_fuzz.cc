// SPDX-License-Identifier: MIT
// URLs of sources, filled with values of visitors: the path has the segments of the text, and none
// that has a value in it is empty, "." or "..". The input is a path with $1 and $2, and two values,
// each on a line.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "heddle/base/error.hh"
#include "heddle/web/page_files.hh"

namespace {

void demand(bool condition) {
  if (!condition) std::abort();
}

std::string take_line(std::string_view& from) {
  const std::size_t end = std::min(from.find('\n'), from.size());
  const std::string line(from.substr(0, end));
  from.remove_prefix(std::min(end + 1, from.size()));
  return line;
}

/// The next part between slashes.
std::string_view take_segment(std::string_view& from) {
  const std::size_t end = std::min(from.find_first_of("/\\"), from.size());
  const std::string_view segment = from.substr(0, end);
  from.remove_prefix(std::min(end + 1, from.size()));
  return segment;
}

/// What a server may make of a segment: encoded dots are dots, and parameters are dropped.
std::string seen_segment(std::string_view segment) {
  std::string out;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    const std::string_view three = segment.substr(i, 3);
    if (segment[i] == ';' || three == "%3B" || three == "%3b") break;
    if (three == "%2e" || three == "%2E") {
      out += '.';
      i += 2;
    } else {
      out += segment[i];
    }
  }
  return out;
}

bool has_value(std::string_view segment) {
  for (std::size_t i = 0; i + 1 < segment.size(); ++i)
    if (segment[i] == '$') {
      if (segment[i + 1] == '1' || segment[i + 1] == '2') return true;
      if (segment[i + 1] == '$') ++i;
    }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string path = "/" + take_line(rest);
  const std::string first = take_line(rest);
  const heddle::http::source_text text("http://127.0.0.1:1" + path, {first, take_line(rest)});
  std::string made;
  try {
    made = text.filled_url();
  } catch (const heddle::failure& e) {
    demand(e.code() == std::errc::invalid_argument);
    return 0;
  }
  demand(made.starts_with("http://127.0.0.1:1/"));
  std::string_view wanted = std::string_view(path).substr(0, path.find_first_of("?#"));
  std::string_view sent = std::string_view(made).substr(18);
  sent = sent.substr(0, sent.find_first_of("?#"));
  while (!wanted.empty()) {
    const std::string_view segment = take_segment(wanted);
    const std::string seen = seen_segment(take_segment(sent));
    if (has_value(segment)) demand(seen != "" && seen != "." && seen != "..");
  }
  demand(sent.empty());
  return 0;
}

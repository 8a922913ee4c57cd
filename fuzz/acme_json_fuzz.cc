// SPDX-License-Identifier: MIT
// The reader of an authority's answers: JSON, the text of a problem document, and moments. A text
// that is read stays within the limits, and nothing of it can control a terminal.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "acme/certificate.hh"
#include "acme/keys.hh"
#include "acme/wire.hh"
#include "heddle/base/error.hh"
#include "heddle/http/detail/json.hh"

namespace {

using namespace heddle::acme::detail;
using heddle::http::detail::json_limits;

void demand(bool condition) {
  if (!condition) std::abort();
}

std::size_t walk(const json& value, std::size_t depth, const json_limits& bounds) {
  demand(depth <= bounds.depth_max);
  std::size_t count = 1;
  for (const json& each : value.items()) count += walk(each, depth + 1, bounds);
  if (value.what() == json::kind::object) {
    demand(value.names().size() == value.items().size());
    for (std::size_t i = 0; i != value.names().size(); ++i)
      demand(&value[value.names()[i]] == &value.items()[i]);  // no name repeats
  }
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  constexpr json_limits bounds{.depth_max = 8, .values_max = 100};
  try {
    const json read = json::parse(text, bounds);
    demand(walk(read, 0, bounds) <= bounds.values_max);
    for (const char c : problem_text(read) + problem_type(read))
      demand(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  } catch (const heddle::failure& e) {
    demand(e.code() == std::errc::bad_message);
  }
  try {
    static_cast<void>(moment_of(text));
  } catch (const heddle::failure& e) {
    demand(e.code() == std::errc::bad_message);
  }
  if (const auto bytes = from_base64url(text)) demand(to_base64url(*bytes) == text);
  return 0;
}

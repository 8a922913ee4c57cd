// SPDX-License-Identifier: MIT
// The request parser whole against the same bytes in pieces: the answers have to be equal, and
// everything that a head says has to lie inside the input. The input's first byte seeds the cuts,
// its second one chooses small limits or the default ones.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/http/parser.hh"

namespace {

using namespace heddle::http;

void demand(bool condition) {
  if (!condition) std::abort();
}

void inside(std::string_view part, std::string_view whole) {
  if (part.empty() || part == "/" || part == "*") return;
  demand(part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

bool equal(const request_parser& a, const request_parser& b) {
  const request_head& x = a.head();
  const request_head& y = b.head();
  if (a.consumed() != b.consumed() || x.header_count() != y.header_count()) return false;
  for (std::size_t i = 0; i < x.header_count(); ++i) {
    header left = x.header_at(i);
    header right = y.header_at(i);
    if (left.name != right.name || left.value != right.value || left.id != right.id) return false;
    if (x.value(left.name) != y.value(left.name) || !x.has(left.name)) return false;
  }
  return x.verb() == y.verb() && x.method_text() == y.method_text() && x.target() == y.target() &&
         x.form() == y.form() && x.path() == y.path() && x.query() == y.query() &&
         x.has_query() == y.has_query() && x.authority() == y.authority() &&
         x.minor_version() == y.minor_version() && x.keep_alive() == y.keep_alive() &&
         x.body() == y.body() && x.content_length() == y.content_length() &&
         x.expects_continue() == y.expects_continue() && x.upgrade() == y.upgrade();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::uint32_t random = data[0] + 1;
  limits bounds;
  if ((data[1] & 1) != 0) {
    bounds = {.request_line_bytes_max = 40,
              .header_bytes_max = 80,
              .header_count_max = 3,
              .method_bytes_max = 5,
              .empty_lines_max = 1,
              .body_bytes_max = 100};
  }
  // libFuzzer's own buffer has the two bytes in front; a copy of exact size shows any overread.
  std::size_t length = size - 2;
  auto copy = std::make_unique<char[]>(length);
  if (length != 0) std::memcpy(copy.get(), data + 2, length);
  std::string_view bytes{copy.get(), length};

  request_parser whole(bounds);
  parse_state expected = whole.feed(bytes);
  request_parser pieces(bounds);
  parse_state state = parse_state::need_more;
  std::size_t fed = 0;
  std::unique_ptr<char[]> moved;
  while (state == parse_state::need_more && fed < length) {
    random = random * 1664525 + 1013904223;
    // Seed 0 feeds byte by byte, which no random cut would do for long.
    std::size_t step = data[0] == 0 ? 1 : 1 + (random >> 16) % 40;
    fed = fed + step < length ? fed + step : length;
    auto next = std::make_unique<char[]>(fed);
    std::memcpy(next.get(), bytes.data(), fed);
    state = pieces.feed({next.get(), fed});
    moved = std::move(next);
  }
  if (length == 0) state = pieces.feed({});
  demand(state == expected && whole.error() == pieces.error());
  demand(whole.error_at() == pieces.error_at() && whole.error_at() <= length);
  if (expected != parse_state::done) return 0;
  pieces.head().rebase(bytes.data());
  demand(whole.consumed() <= length && equal(whole, pieces));
  const request_head& head = whole.head();
  for (std::string_view part :
       {head.target(), head.path(), head.query(), head.authority(), head.method_text()}) {
    inside(part, bytes);
  }
  return 0;
}

// SPDX-License-Identifier: MIT
// The parser of answers: whole against the same bytes in pieces, its promises about what it
// accepts, and against the request parser: field lines that one of them accepts and the other
// refuses would let bytes be smuggled. The first byte seeds the cuts, the second one chooses
// limits.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "heddle/http/parser.hh"
#include "heddle/http/response_parser.hh"

namespace {

using namespace heddle::http;

void demand(bool condition) {
  if (!condition) std::abort();
}

/// Whether the request parser refuses these lines for their bytes, and not for their meaning.
problem as_request(std::string_view lines, const limits& bounds) {
  const std::string text = "GET / HTTP/1.1\r\n" + std::string(lines);
  request_parser parser(bounds);
  return parser.feed(text) == parse_state::failed ? parser.error() : problem::none;
}

void check_accepted(const response_head& head) {
  demand(head.status() >= 100 && head.status() <= 999);
  std::size_t lengths = 0, codings = 0;
  for (std::size_t i = 0; i < head.header_count(); ++i) {
    const header h = head.header_at(i);
    demand(token_valid(h.name) && value_valid(h.value));
    lengths += h.id == header_id::content_length;
    codings += h.id == header_id::transfer_encoding;
  }
  demand(lengths + codings <= 1);
  demand(head.body(method::head) == framing::none);
  const framing body = head.body(method::get);
  demand(body != framing::length || lengths == 1);
  demand(body != framing::chunked || (codings == 1 && head.minor_version() == 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::uint32_t random = data[0] + 1;
  limits bounds;
  if ((data[1] & 1) != 0) {
    bounds.request_line_bytes_max = 30;
    bounds.header_bytes_max = 60;
    bounds.header_count_max = 3;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);

  response_parser whole(bounds), pieces(bounds);
  std::string_view rest = bytes;
  const parse_state end = whole.feed(rest);
  parse_state now = parse_state::need_more;
  std::size_t at = 0;
  while (now == parse_state::need_more && at < bytes.size()) {
    random = random * 1664525 + 1013904223;
    const std::size_t step = data[0] == 0 ? 1 : 1 + (random >> 16) % 20;
    std::string_view piece = bytes.substr(at, step);
    const std::size_t given = piece.size();
    now = pieces.feed(piece);
    at += given - piece.size();
    if (now == parse_state::need_more) demand(piece.empty());
  }
  demand(now == end && pieces.error() == whole.error());
  if (end != parse_state::done) return 0;
  demand(at == bytes.size() - rest.size());
  const std::string_view text = bytes.substr(0, at);
  const response_head head = whole.take();
  check_accepted(head);
  const problem other = as_request(text.substr(text.find('\n') + 1), bounds);
  demand(other < problem::bare_cr || other > problem::value_bad_byte);
  return 0;
}

// SPDX-License-Identifier: MIT
// Our request parser and chunked decoder against an independent reader, Boost.Beast's: a request
// that we accept must be read by it in the same way, to the same last byte. Where two readers see
// two ends, a request can be smuggled past one of them. We refuse more than it does, so what we
// refuse proves nothing and is left out. Built where Boost is installed.
#include <boost/beast/http.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "heddle/http/chunked.hh"
#include "heddle/http/parser.hh"

namespace {

namespace beast = boost::beast::http;
using namespace heddle::http;

void demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "the readers differ: %s\n", what);
  std::abort();
}

/// The body as we read it, and how much input it took. False: it is not whole, or refused.
bool read_body(const request_head& head, const limits& bounds, std::string_view input,
               std::string& body, std::size_t& used, bool& trailers) {
  if (head.body() == framing::none) return true;
  if (head.body() == framing::length) {
    if (input.size() < head.content_length()) return false;
    body = input.substr(0, static_cast<std::size_t>(head.content_length()));
    used = body.size();
    return true;
  }
  chunked_decoder decoder(bounds);
  for (;;) {
    const chunk_piece piece = decoder.feed(input.substr(used));
    used += piece.consumed;
    if (piece.what == chunk_piece::kind::data) body += piece.bytes;
    trailers |= piece.what == chunk_piece::kind::trailer;
    if (piece.what == chunk_piece::kind::done) return true;
    if (piece.what == chunk_piece::kind::failed || piece.what == chunk_piece::kind::need_more)
      return false;
  }
}

std::string_view text(boost::beast::string_view from) { return {from.data(), from.size()}; }

/// The other reader checks the lists of these fields more closely than we, who look for tokens.
bool has_list(const request_head& head) {
  return head.has(header_id::connection) || head.has(header_id::proxy_connection) ||
         head.has(header_id::upgrade);
}

template <class Message>
void compare_fields(const request_head& head, const Message& theirs) {
  for (std::size_t i = 0; i < head.header_count(); ++i) {
    const header line = head.header_at(i);
    std::size_t before = 0;
    for (std::size_t j = 0; j < i; ++j)
      before += equal_ignoring_case(head.header_at(j).name, line.name) ? 1 : 0;
    auto [from, to] = theirs.equal_range({line.name.data(), line.name.size()});
    while (before > 0 && from != to) {
      ++from;
      --before;
    }
    demand(from != to, "a field is missing");
    demand(text(from->value()) == line.value, "a field's value");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const limits bounds;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  request_parser ours(bounds);
  if (ours.feed(bytes) != parse_state::done) return 0;
  const request_head& head = ours.head();
  // Minor versions above 1, which we take for 1, are not the other reader's.
  const char version = head.target().data()[head.target().size() + 8];
  if (version != '0' && version != '1') return 0;
  std::string body;
  std::size_t used = 0;
  bool trailers = false;
  const bool whole = read_body(head, bounds, bytes.substr(ours.consumed()), body, used, trailers);

  // It takes no empty lines before a request.
  const std::string_view input =
      bytes.substr(static_cast<std::size_t>(head.method_text().data() - bytes.data()));
  const std::size_t skipped = bytes.size() - input.size();
  beast::request_parser<beast::string_body> theirs;
  theirs.header_limit(1 << 20);
  theirs.body_limit(boost::none);
  theirs.eager(true);
  boost::system::error_code error;
  std::size_t taken = 0;
  while (!theirs.is_done() && taken < input.size()) {
    const std::size_t step =
        theirs.put(boost::asio::buffer(input.data() + taken, input.size() - taken), error);
    taken += step;
    if (error || step == 0) break;
  }
  if (!theirs.is_header_done()) {
    demand(error == beast::error::bad_value && has_list(head), "it refuses the head");
    return 0;
  }
  const auto& message = theirs.get();
  demand(text(message.method_string()) == head.method_text(), "the method");
  demand(text(message.target()) == head.target(), "the target");
  demand(message.version() == 10 + head.minor_version(), "the version");
  demand(theirs.chunked() == (head.body() == framing::chunked), "the framing");
  compare_fields(head, message);
  // It takes trailers for header fields; we hand them out as what they are.
  if (!has_list(head) && whole && !trailers)
    demand(theirs.keep_alive() == head.keep_alive(), "whether it stays open");
  if (!whole) return 0;
  if (trailers && error) return 0;
  demand(theirs.is_done(), "the body has an end");
  demand(message.body() == body, "the body");
  demand(taken + skipped == ours.consumed() + used, "where the next request begins");
  return 0;
}

// SPDX-License-Identifier: MIT
// The chunked decoder whole against the same bytes in pieces, and its body against the encoder:
// what was decoded is encoded again and has to decode to the same. The first byte seeds the cuts,
// the second one chooses the limits.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "heddle/http/chunked.hh"

namespace {

using namespace heddle::http;
using kind = chunk_piece::kind;

void demand(bool condition) {
  if (!condition) std::abort();
}

struct decoded {
  kind end = kind::need_more;
  std::string body;
  std::string trailers;
  std::size_t consumed = 0;
};

void feed(chunked_decoder& decoder, std::string_view bytes, decoded& into) {
  auto copy = std::make_unique<char[]>(bytes.size());
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  std::string_view input{copy.get(), bytes.size()};
  do {
    chunk_piece piece = decoder.feed(input);
    demand(piece.consumed <= input.size());
    if (!piece.bytes.empty()) {
      demand(piece.bytes.data() >= input.data());
      demand(piece.bytes.data() + piece.bytes.size() <= input.data() + piece.consumed);
    }
    demand(piece.consumed > 0 || (piece.what != kind::data && piece.what != kind::trailer));
    into.end = piece.what;
    into.consumed += piece.consumed;
    input.remove_prefix(piece.consumed);
    if (piece.what == kind::data) into.body += piece.bytes;
    if (piece.what == kind::trailer) into.trailers += piece.bytes;
  } while (into.end == kind::data || into.end == kind::trailer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::uint32_t random = data[0] + 1;
  limits bounds;
  if ((data[1] & 1) != 0) {
    bounds.body_bytes_max = 20;
    bounds.chunk_extension_bytes_max = 10;
    bounds.trailer_bytes_max = 20;
  }
  std::string_view bytes{reinterpret_cast<const char*>(data) + 2, size - 2};

  chunked_decoder whole_decoder(bounds);
  decoded whole;
  feed(whole_decoder, bytes, whole);
  chunked_decoder decoder(bounds);
  decoded pieces;
  std::size_t at = 0;
  while (pieces.end == kind::need_more && at < bytes.size()) {
    random = random * 1664525 + 1013904223;
    std::size_t step = data[0] == 0 ? 1 : 1 + (random >> 16) % 20;
    feed(decoder, bytes.substr(at, step), pieces);
    at += step;
  }
  demand(pieces.end == whole.end && decoder.error() == whole_decoder.error());
  demand(whole.body.size() <= bounds.body_bytes_max);
  demand(whole.trailers.size() <= bounds.trailer_bytes_max);
  if (whole.end == kind::failed) return 0;
  demand(pieces.body == whole.body && pieces.trailers == whole.trailers);
  demand(pieces.consumed == whole.consumed && whole.body.size() == decoder.body_bytes());

  std::string wire;
  if (!whole.body.empty()) {
    wire += chunk_head(whole.body.size()).text();
    wire += whole.body;
    wire += chunk_end;
  }
  wire += last_chunk;
  chunked_decoder again_decoder(bounds);
  decoded again;
  feed(again_decoder, wire, again);
  demand(again.end == kind::done && again.body == whole.body && again.consumed == wire.size());
  return 0;
}

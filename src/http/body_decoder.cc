// SPDX-License-Identifier: MIT
// The next part of a body of HTTP/1, by its framing: a length, chunks, or all bytes until the
// connection closes.
#include "heddle/http/detail/body_decoder.hh"

namespace heddle::http {

std::string_view body_decoder::take_chunk(std::string_view& rest) {
  // The decoder may report the end only on a further call, because trailers are a piece of their
  // own.
  for (bool ask = !rest.empty(); ask;) {
    const chunk_piece piece = chunks_.feed(rest);
    rest.remove_prefix(piece.consumed);
    switch (piece.what) {
      case chunk_piece::kind::data:
        return piece.bytes;
      case chunk_piece::kind::trailer:
        trailers_.append(piece.bytes);
        break;
      case chunk_piece::kind::done:
        how_ = framing::none;
        ask = false;
        break;
      case chunk_piece::kind::need_more:
      case chunk_piece::kind::failed:
        ask = false;
        break;
    }
  }
  return {};
}

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// Heads of HTTP/2 messages as a client sends and reads them (RFC 9113 section 8.3). A request is
// made from the text that HTTP/1.1 has for it; an answer's header block becomes such a text, so one
// parser decides for both versions what a head means.
//
// For the parts of the library that speak HTTP/2; not for programs: it may change in any version.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "heddle/http/detail/hpack.hh"
#include "heddle/http/detail/http2_fields.hh"
#include "heddle/http/response_parser.hh"

namespace heddle::http {

/// The parts of a request of HTTP/2 that its HTTP/1.1 head does not have.
struct http2_request_kind {
  bool secure = false;             ///< :scheme is https
  std::string_view protocol = {};  ///< :protocol of an extended CONNECT (RFC 8441); "": none
  /// Whether a field's value must not be kept by any party on the way; Authorization,
  /// Proxy-Authorization and Cookie are always treated so.
  std::function<bool(std::string_view name)> secret = {};
};

/// Appends the header block of a request. `head` is its HTTP/1.1 head, valid and whole, with the
/// target in origin form; fields about the connection, and Host, are replaced. With a protocol the
/// method is CONNECT instead of the head's.
void put_http2_request(std::string& out, std::string_view head, const http2_request_kind& kind);

/// Reads the head of an answer. If the result is `malformed` or `too_large`, `why` has the reason.
/// `ends`: the stream ends with this block, so no body follows.
[[nodiscard]] http2_block read_http2_answer(hpack_decoder& decoder, std::string_view block,
                                            const limits& bounds, bool ends, response_head& head,
                                            problem& why);

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// Heads of HTTP/2 messages (RFC 9113 section 8.3). A request's header block becomes the text that
// HTTP/1.1 has for the same request, so one parser decides for both versions what a head means. An
// answer's fields become a header block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "heddle/http/detail/hpack.hh"
#include "heddle/http/detail/http2_fields.hh"
#include "heddle/http/limits.hh"
#include "heddle/http/response.hh"
#include "web/answer_opening.hh"
#include "web/packed_lines.hh"

namespace heddle::http {

/// Writes the HTTP/1.1 head of a request. `protocol` gets :protocol (RFC 8441), "" mostly.
[[nodiscard]] http2_block read_http2_request(hpack_decoder& decoder, std::string_view block,
                                             const limits& bounds, std::string& text,
                                             std::string& protocol);
/// Appends the header block of an answer. `length`: the block tells the body's length.
void put_http2_answer(std::string& out, const response& r, const field_list& added, bool length,
                      answer_opening& opening, packed_lines& packed);
/// Appends the header block of an interim answer.
void put_http2_interim(std::string& out, const response& r);

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// What a request head means once its syntax is known: the form of the target, the host, where the
// body ends, whether the connection stays. These rules look at whole tokens, so they are apart
// from the parser, which looks at bytes.
#pragma once

#include "heddle/http/limits.hh"
#include "heddle/http/parser.hh"
#include "heddle/http/problem.hh"
#include "heddle/http/request.hh"

namespace heddle::http {

struct request_meaning {
  // After the request line: form, path, authority.
  static problem take_target(request_head& head);

  // After the last field line: Host, framing, connection options. `where` becomes the offset of
  // the value that is at fault, and is left alone when a field is missing. `known` may be null.
  static problem take_fields(request_head& head, const limits& bounds, known_authority* known,
                             std::uint32_t& where);

 private:
  static problem absolute_target(request_head& head);
  static problem framing_of(request_head& head, const limits& bounds, header_id& culprit);
  static problem codings(const request_head& head);
  static void connection(request_head& head);
};

// A host with an optional port, as RFC 3986 writes it, without user information. The host may be
// empty only in a Host field.
bool authority_valid(std::string_view text, bool host_needed, bool port_needed);

}  // namespace heddle::http

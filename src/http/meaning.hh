// SPDX-License-Identifier: MIT
// Interprets a request head after its syntax has been checked: the form of the target, the host,
// where the body ends, whether the connection stays open. These rules work on whole tokens, so they
// are separate from the parser, which works on bytes.
#pragma once

#include "heddle/http/limits.hh"
#include "heddle/http/parser.hh"
#include "heddle/http/problem.hh"
#include "heddle/http/request.hh"

namespace heddle::http {

struct request_meaning {
  // Call it after the request line; sets form, path and authority.
  static problem take_target(request_head& head);

  // Call it after the last field line; checks Host, framing and connection options. Sets `where` to
  // the offset of a bad value and does not change it if a field is missing. `known` may be null.
  static problem take_fields(request_head& head, const limits& bounds, known_authority* known,
                             std::uint32_t& where);

 private:
  static problem absolute_target(request_head& head);
  static problem framing_of(request_head& head, const limits& bounds, header_id& culprit);
  static problem codings(const request_head& head);
  static void connection(request_head& head);
};

// Whether `text` is a host with an optional port, as RFC 3986 writes it, without user information.
// Only a Host field may have an empty host.
bool authority_valid(std::string_view text, bool host_needed, bool port_needed);

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// Known header names as numbers. The parser recognises a name once while it reads, so that finding
// Host or Range later is a bit test and an index instead of a search. Names are case-insensitive.
// Any other name is `header_id::other` and is found by its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle::http {

// At most 64 names, because each has one bit. headers.cc lists them in the same order.
enum class header_id : std::uint8_t {
  other,
  host,
  connection,
  content_length,
  transfer_encoding,
  expect,
  upgrade,
  te,
  trailer,
  keep_alive,
  date,
  accept,
  accept_encoding,
  accept_language,
  accept_charset,
  if_match,
  if_none_match,
  if_modified_since,
  if_unmodified_since,
  if_range,
  range,
  authorization,
  proxy_authorization,
  proxy_connection,
  cookie,
  user_agent,
  referer,
  origin,
  cache_control,
  pragma,
  content_type,
  content_encoding,
  content_language,
  content_location,
  content_disposition,
  forwarded,
  via,
  x_forwarded_for,
  x_forwarded_proto,
  x_forwarded_host,
  x_real_ip,
  x_request_id,
  x_requested_with,
  access_control_request_method,
  access_control_request_headers,
  sec_fetch_site,
  sec_fetch_mode,
  sec_fetch_dest,
  sec_fetch_user,
  sec_ch_ua,
  sec_ch_ua_mobile,
  sec_ch_ua_platform,
  upgrade_insecure_requests,
  dnt,
  priority,
  sec_websocket_key,
  sec_websocket_version,
  sec_websocket_protocol,
  sec_websocket_extensions,
  traceparent,
  tracestate,
  http2_settings,
  last_event_id,
  from,
};

inline constexpr std::size_t header_id_count = 64;

// One field line: views into the buffer without surrounding whitespace and line end.
struct header {
  std::string_view name;
  std::string_view value;
  header_id id = header_id::other;
};

// The lower-case name of a known header; "" for `other`.
std::string_view name_of(header_id id);

// The number of a name in any case; `other` if the name is not known.
header_id header_id_of(std::string_view name);

// Whether two ASCII texts are equal if case is ignored: names, tokens, schemes.
bool equal_ignoring_case(std::string_view left, std::string_view right);

// True for a token of RFC 9110 section 5.6.2 (methods, names, connection options).
bool token_valid(std::string_view text);

// True for a field value that stays in its line: it has no control characters but tab.
bool value_valid(std::string_view text);

// Takes the next element of a comma-separated list off `rest`, without surrounding whitespace.
// Skips empty elements, as RFC 9110 section 5.6.1 asks. Commas inside quoted strings do not
// separate. False at the end of the list.
bool take_list_element(std::string_view& rest, std::string_view& element);

// True if a list such as Connection's contains this token, in any case.
bool list_has_token(std::string_view list, std::string_view token);

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// Header names that a server cares about, as numbers: the parser recognises them once while it
// reads, so that finding Host or Range later is a bit test and an index, not a search. Names are
// case-insensitive. Any other name is `header_id::other` and is found by its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace heddle::http {

// At most 64, for one bit each. The order is that of the table in headers.cc.
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

// One field line as it stands in the buffer: no surrounding whitespace, no line end.
struct header {
  std::string_view name;
  std::string_view value;
  header_id id = header_id::other;
};

// The lower-case name of a known header; "" for `other`.
std::string_view name_of(header_id id);

// The number of a name in any case, `other` when it is not one of the list.
header_id header_id_of(std::string_view name);

// Equality of ASCII text without regard to case: names, tokens, schemes.
bool equal_ignoring_case(std::string_view left, std::string_view right);

// A token of RFC 9110 section 5.6.2 (methods, names, connection options).
bool token_valid(std::string_view text);

// Field content that cannot break out of its line: no control characters but tab.
bool value_valid(std::string_view text);

// Takes the next element of a comma-separated list off `rest`, without surrounding whitespace.
// Empty elements are skipped, as RFC 9110 section 5.6.1 asks. False: the list has ended. Commas
// inside quoted strings do not separate.
bool take_list_element(std::string_view& rest, std::string_view& element);

// True when a list such as Connection's has this token, in any case.
bool list_has_token(std::string_view list, std::string_view token);

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// One request on a connection of HTTP/2 and its answer, as a client has it. The connection fills it
// in, the exchange takes from it.
//
// A stream without a number was not opened yet. It is listed in its connection from
// http2_link::open() until release().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "heddle/core/deadline.hh"
#include "heddle/http/detail/http2_stream.hh"
#include "heddle/http/response_parser.hh"
#include "heddle/sync/semaphore.hh"

namespace heddle::http::detail {

/// Why a stream or a connection has ended.
struct http2_trouble {
  std::error_code code;
  std::string text;
  bool refused = false;       ///< the server did nothing with the request
  bool wants_http1 = false;   ///< HTTP_1_1_REQUIRED
  bool took_nothing = false;  ///< the server took no bytes for client_timeouts::transfer
};

/// Thread: the client's color.
struct client_stream final : http2_stream {
  gate::hold permit;                     // for one of the connection's streams
  cancel_source stop;                    // ends what writes to it
  std::optional<http2_trouble> trouble;  // why it was reset, unless the whole answer had come
  response_head head;
  std::vector<response_head> early;  // informational heads, if keeps_early; taken from the front
  time_point heard_before{};         // when the server was heard last before the stream was opened
  std::uint32_t informational = 0;
  bool keeps_early = false;
  bool tunnel = false;    // an extended CONNECT: DATA is no body
  bool bodyless = false;  // the answer is to HEAD, or its status allows no body
  bool heard = false;     // a frame of the answer has come
};

}  // namespace heddle::http::detail

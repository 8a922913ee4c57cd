// SPDX-License-Identifier: MIT
// One request on a connection of HTTP/2 (RFC 9113 section 5): the part of its answer that has
// arrived, its windows, and its error. The connection fills it in, the exchange takes from it.
//
// States: made (no number) -> open (number, listed in its connection) -> released. While it is
// open, either side may have ended its half.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include "heddle/core/deadline.hh"
#include "heddle/http/http2_output.hh"
#include "heddle/http/response_parser.hh"
#include "heddle/http/wake_once.hh"
#include "heddle/sync/semaphore.hh"

namespace heddle::http::detail {

/// Why a stream or a connection has ended.
struct http2_trouble {
  std::error_code code;
  std::string text;
  bool refused = false;      ///< the server did nothing with the request
  bool wants_http1 = false;  ///< HTTP_1_1_REQUIRED
};

/// Thread: the client's color. Owns: bytes that have arrived and were not read yet, at most a
/// window.
struct http2_stream {
  [[nodiscard]] std::uint32_t id() const noexcept { return sender.id; }
  /// Nothing more will come.
  [[nodiscard]] bool over() const noexcept { return server_ended || trouble.has_value(); }

  http2_sender sender;
  gate::hold permit;   // of the connection's streams
  wake_once news;      // for the reader
  cancel_source stop;  // ends what writes to it
  std::optional<http2_trouble> trouble;
  response_head head;
  std::string arrived;
  std::string part;  // that the reader has
  std::string trailers;
  std::int64_t receive_window = 0;
  std::optional<std::uint64_t> length;  // of the body, if the head says it
  std::uint64_t body_bytes = 0;
  std::uint32_t to_give_back = 0;  // of the receive window: consumed, and not yet said so
  std::uint32_t informational = 0;
  std::uint32_t empty_frames = 0;
  bool tunnel = false;    // an extended CONNECT: DATA is no body
  bool bodyless = false;  // it answers HEAD, or its status allows no body
  bool has_head = false;
  bool heard = false;  // a frame of the answer has come
  bool server_ended = false;
  bool client_ended = false;
};

}  // namespace heddle::http::detail

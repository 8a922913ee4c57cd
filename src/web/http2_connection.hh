// SPDX-License-Identifier: MIT
// The state of an HTTP/2 connection (RFC 9113) that is idle: the peer's settings, the
// windows, the decoder's table and the budgets of what a peer may do. While something happens, a
// session (http2_session.hh) has the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "heddle/core/task.hh"
#include "heddle/http/hpack.hh"
#include "heddle/http/http2_frame.hh"
#include "heddle/http/http2_output.hh"
#include "heddle/http/rate_budget.hh"
#include "web/server_shared.hh"

namespace heddle::http {

/// Thread: the connection's color.
struct http2_connection : http2_send_state {
  /// `early` is what arrived before the connection was known to be one of HTTP/2.
  http2_connection(server_shared& s, const stream* conn, std::string&& arrived)
      : shared(s), of(conn), decoder(4096, text_bytes_max), early(std::move(arrived)) {}

  /// Answers everything until no stream is open and all has been sent. True: it is idle and may
  /// stay.
  [[nodiscard]] task<bool> burst(stream& conn, overload_control::credit& credit);
  /// Sends GOAWAY before an idle connection is closed.
  [[nodiscard]] task<> leave(stream& conn);

  // Limits against misuse; docs/reference/http.md names the attack that each is for.
  static constexpr std::uint32_t streams_max = 100;
  static constexpr std::uint32_t stream_window = 64 * 1024;
  static constexpr std::uint32_t connection_window = 1024 * 1024;
  static constexpr std::size_t output_bytes_max = 256 * 1024;
  static constexpr std::size_t header_block_bytes_max = 32 * 1024;
  // The longest text in such a block: the shortest Huffman code has 5 bits. So a field that is too
  // long gets 431, and the connection goes on.
  static constexpr std::size_t text_bytes_max = header_block_bytes_max * 8 / 5;
  static constexpr unsigned continuations_max = 8;
  static constexpr unsigned empty_frames_max = 10;
  static constexpr unsigned acknowledgements_max = 64;

  server_shared& shared;
  const stream* of;
  hpack_decoder decoder;
  std::string early;
  std::int64_t receive_window = http2_first_window;
  std::uint32_t to_give_back = 0;  // of the receive window: consumed, and not yet said so
  std::uint32_t last_stream = 0;   // the highest that the peer has opened
  rate_budget resets{200, 33};     // streams that ended early, by either end
  rate_budget glitches{1000, 33};  // frames that do nothing
  rate_budget settings{20, 10};
  bool preface_seen = false;
  bool settings_seen = false;
  bool greeted = false;  // our settings have left
  bool leaving = false;  // GOAWAY has left
};

}  // namespace heddle::http

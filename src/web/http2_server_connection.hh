// SPDX-License-Identifier: MIT
// The state of an HTTP/2 connection of the server while it is idle. While something happens, a
// session (http2_session.hh) has the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "heddle/core/task.hh"
#include "heddle/http/detail/http2_connection.hh"
#include "web/server_shared.hh"

namespace heddle::http {

/// How far a server has come that says goodbye (RFC 9113 section 6.8). It only goes on.
enum class goodbye_step : std::uint8_t {
  none,
  announced,     ///< a GOAWAY has left that allows all streams, and a PING
  acknowledged,  ///< the PING was answered, or was not answered in time
  said,          ///< the last GOAWAY has left, and no stream begins any more
};

/// The idle state of one connection. Thread: the connection's color.
struct http2_server_connection : http2_rest {
  /// `arrived` came before the connection was known to be one of HTTP/2.
  http2_server_connection(server_shared& s, std::string&& arrived)
      : http2_rest(text_bytes_max, rate_budget(1000, 33), rate_budget(20, 10)),
        shared(s),
        early(std::move(arrived)) {}

  /// Answers everything until no stream is open and all has been sent. True if it is then idle and
  /// may stay.
  [[nodiscard]] task<bool> burst(stream& conn, overload_control::credit& credit);
  /// Sends GOAWAY before an idle connection is closed.
  [[nodiscard]] task<> leave(stream& conn);
  /// Reads and drops what the client still sends, for a while. If the connection were closed at
  /// once, the client would get a reset instead of the last answers and GOAWAY.
  [[nodiscard]] task<> linger(stream& conn);
  [[nodiscard]] bool leaving() const noexcept { return goodbye == goodbye_step::said; }

  // Limits against misuse; docs/reference/http.md names the attack that each is for.
  static constexpr std::uint32_t streams_max = 100;
  static constexpr std::size_t output_bytes_max = 256 * 1024;
  static constexpr http2_bounds bounds = {.stream_window = 64 * 1024,
                                          .connection_window = 1024 * 1024,
                                          .header_block_bytes_max = 32 * 1024,
                                          .continuations_max = 8,
                                          .empty_frames_max = 10,
                                          .acknowledgements_max = 64};
  // The longest text in such a block: the shortest Huffman code has 5 bits. So a field that is too
  // long gets 431, and the connection goes on.
  static constexpr std::size_t text_bytes_max = bounds.header_block_bytes_max * 8 / 5;

  server_shared& shared;
  std::string early;
  rate_budget resets{200, 33};     // streams that ended early, by either end
  std::uint32_t last_stream = 0;   // the highest that the peer has opened
  std::uint8_t preface_bytes = 0;  // bytes of the client's preface that have come
  bool greeted = false;            // our settings have left
  goodbye_step goodbye = goodbye_step::none;
  bool broken = false;  // bytes could not be sent

 private:
  [[nodiscard]] task<> drop_input(stream& conn);
};

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// An HTTP/1 connection during a burst of requests: from the received block that woke it until no
// more bytes have arrived. It owns the input, the output, the parser and one exchange at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "heddle/http/parser.hh"
#include "web/handed_over.hh"
#include "web/http1_exchange.hh"

namespace heddle::http {

/// The end of a burst of requests.
enum class burst_end : std::uint8_t {
  closes,
  rests,
  handed_over,  ///< the connection goes on as something else: its taker has it
};

/// A connection of the server, and its place there.
struct server_connection {
  stream& conn;
  overload_control::credit& credit;
  connection_taker& taker;
  std::uint32_t of_peer;
};

/// Thread: the connection's color.
class http1_connection {
 public:
  http1_connection(server_shared& shared, const server_connection& of)
      : shared_(shared),
        conn_(of.conn),
        in_(shared, conn_),
        out_(shared, conn_),
        parser_(shared.head_bounds, &shared.host),
        exchange_(shared, conn_, in_, out_, parser_.head(), of.credit) {}
  http1_connection(const http1_connection&) = delete;

  /// Answers all requests that have arrived. It is static, so that an idle connection's frame
  /// holds no object of this class. `fresh`: nothing has arrived before, so the protocol is chosen:
  /// by ALPN, else by the first bytes.
  [[nodiscard]] static task<burst_end> burst(server_shared& shared, server_connection of,
                                             bool fresh);

 private:
  /// Begins HTTP/2 if the first bytes are those of its preface (RFC 9113 section 3.3); else null.
  [[nodiscard]] task<std::unique_ptr<handed_over>> http2_by_preface();
  [[nodiscard]] task<bool> more_head();
  void refuse_head();
  [[nodiscard]] task<> linger();

  server_shared& shared_;
  stream& conn_;
  http1_input in_;
  http1_output out_;
  request_parser parser_;
  http1_exchange exchange_;
  time_point head_due_ = never;
  after_answer after_ = after_answer::next;  // the fate that the last request left
};

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// An HTTP/1 connection during a burst of requests: from the received block that woke it until no
// more bytes have arrived. It owns the input, the output, the parser and one exchange at a time.
// Another version of HTTP would be another class beside it.
#pragma once

#include "heddle/http/parser.hh"
#include "web/http1_exchange.hh"

namespace heddle::http {

/// The end of a burst of requests.
enum class burst_end : std::uint8_t {
  close,        ///< the connection ends
  rest,         ///< it is idle and may stay
  handed_over,  ///< something else goes on with it: shared.handed_over has what
};

/// Thread: the connection's color.
class http1_connection {
 public:
  http1_connection(server_shared& shared, stream& conn, overload_control::credit& credit)
      : shared_(shared),
        conn_(conn),
        in_(shared, conn),
        out_(shared, conn),
        parser_(shared.head_bounds, &shared.host),
        exchange_(shared, conn, in_, out_, parser_.head(), credit) {}
  http1_connection(const http1_connection&) = delete;

  /// Answers all requests that have arrived. It is static, so that an idle connection's frame
  /// holds no object of this class.
  [[nodiscard]] static task<burst_end> burst(server_shared& shared, stream& conn,
                                             overload_control::credit& credit);

 private:
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
  after_answer after_ = after_answer::next;  // of the last request
};

}  // namespace heddle::http

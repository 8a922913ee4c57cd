// SPDX-License-Identifier: MIT
// An HTTP/1 connection during a burst of requests: from the received block that woke it until no
// more bytes have arrived. It owns the input, the output, the parser and one exchange at a time.
#pragma once

#include <memory>
#include <utility>

#include "heddle/http/parser.hh"
#include "web/handed_over.hh"
#include "web/http1_exchange.hh"

namespace heddle::http {

/// The end of a burst of requests: the connection ends, rests, or goes on as something else.
class burst_end {
 public:
  static burst_end closes() noexcept { return burst_end(false, nullptr); }
  static burst_end rests() noexcept { return burst_end(true, nullptr); }
  explicit burst_end(std::unique_ptr<handed_over> to) noexcept : burst_end(false, std::move(to)) {}

  [[nodiscard]] bool may_rest() const noexcept { return rests_; }
  /// The part that goes on with the connection; null if there is none.
  [[nodiscard]] std::unique_ptr<handed_over>& next() noexcept { return next_; }

 private:
  burst_end(bool rests, std::unique_ptr<handed_over> next) noexcept
      : rests_(rests), next_(std::move(next)) {}
  bool rests_;
  std::unique_ptr<handed_over> next_;
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
  /// holds no object of this class. `fresh`: nothing has arrived before, so the protocol is chosen:
  /// by ALPN, else by the first bytes.
  [[nodiscard]] static task<burst_end> burst(server_shared& shared, stream& conn,
                                             overload_control::credit& credit, bool fresh);

 private:
  /// HTTP/2 if the first bytes are those of its preface (RFC 9113 section 3.3); else null.
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
  after_answer after_ = after_answer::next;  // of the last request
};

}  // namespace heddle::http

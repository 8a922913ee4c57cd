// SPDX-License-Identifier: MIT
// The receiving half of an HTTP/1.1 connection as a client has it: heads and bodies of answers out
// of the blocks that arrive. It waits for nothing; a client and a proxy read answers with it, each
// with its own limits of time.
//
//   while (answer.read_head(head) == parse_state::need_more) answer.add(the next block);
//   answer.begin_body(head, method::get);
//   while (!answer.body.ended()) {
//     std::string_view part = answer.next_part();
//     if (part.empty()) answer.add(the next block), or answer.body.end_of_input();
//   }
//
// For the parts of the library that speak HTTP/1; not for programs: it may change in any version.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "heddle/http/detail/body_decoder.hh"
#include "heddle/http/response_parser.hh"
#include "heddle/io/stream.hh"

namespace heddle::http {

/// Thread: one color. Owns: one block that has arrived. The limits outlive it.
class http1_answer {
 public:
  explicit http1_answer(const limits& bounds) noexcept
      : body(bounds), parser_(bounds), bounds_(bounds) {}
  http1_answer(const http1_answer&) = delete;

  /// Adds the next block. The block before it is dropped, because all of its bytes have been read.
  void add(received block) noexcept {
    block_ = std::move(block);
    rest_ = block_.text();
    if (begun_ || rest_.empty()) return;
    begun_ = true;
    // Servers of HTTP/2 begin with SETTINGS whatever the client asks.
    constexpr std::string_view settings_of_connection("\x04\0\0\0\0\0", 6);
    http2_ =
        rest_.size() >= 9 && rest_.front() == '\0' && rest_.substr(3, 6) == settings_of_connection;
  }
  /// Gives the block back to the driver.
  void drop_block() noexcept {
    block_.release();
    rest_ = {};
  }
  /// Bytes that no function has read yet.
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }
  /// Whether a byte has arrived since the request was sent.
  [[nodiscard]] bool begun() const noexcept { return begun_; }

  /// Reads a head. `done`: `to` is the next head, which may be informational. `failed`: see
  /// head_fault().
  [[nodiscard]] parse_state read_head(response_head& to) {
    if (http2_) [[unlikely]]
      return parse_state::failed;
    const parse_state now = parser_.feed(rest_);
    if (now != parse_state::done) return now;
    to = parser_.take();
    parser_ = response_parser(bounds_);
    return now;
  }
  [[nodiscard]] bool head_begun() const noexcept { return parser_.received() != 0; }
  [[nodiscard]] problem head_fault() const noexcept {
    return http2_ ? problem::answer_of_http2 : parser_.error();
  }

  void begin_body(const response_head& head, method asked) noexcept {
    framing_ = head.body(asked);
    body.begin(framing_, framing_ == framing::length ? head.content_length() : 0);
  }
  /// The next bytes of the body; empty if a block is needed, the body has ended, or it is wrong.
  [[nodiscard]] std::string_view next_part() { return body.take(rest_); }
  [[nodiscard]] framing body_framing() const noexcept { return framing_; }

  /// Whether another request may use the connection: the answer has ended, and nothing came behind.
  [[nodiscard]] bool leaves_clean(const response_head& head) const noexcept {
    return rest_.empty() && head.keep_alive() && framing_ != framing::until_close;
  }
  /// The missing rest of a body whose connection has ended: "5 bytes before the end of its body".
  [[nodiscard]] std::string missing() const {
    return body.how() == framing::length
               ? std::to_string(body.left()) + " bytes before the end of its body"
               : "before the last chunk of its body";
  }

  body_decoder body;

 private:
  received block_;
  std::string_view rest_;  // the unread part of block_
  response_parser parser_;
  const limits& bounds_;
  framing framing_ = framing::none;
  bool begun_ = false;
  bool http2_ = false;  // the first bytes are a frame of HTTP/2
};

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// One HTTP/1 message out of the bytes of a buffer, by the parsers of room `http`.
#pragma once

#include "heddle/http/detail/body_decoder.hh"
#include "heddle/http/parser.hh"
#include "heddle/http/response_parser.hh"
#include "tamer/http.hh"

namespace tamer::detail {

/// Thread: one at a time. Owns: the message as far as it has come.
class http_reader {
 public:
  explicit http_reader(bool request) noexcept : request_(request) {}

  /// Takes the message's bytes off the buffer. True if the message has ended or is wrong.
  [[nodiscard]] bool take(buffer& in);
  /// Notes that no more bytes come.
  void end_of_input() noexcept;

  http_message message;
  bool keep_alive = false;

 private:
  using problem = heddle::http::problem;

  bool take_head(std::string_view& rest);
  bool take_body(std::string_view& rest);
  void begin_body(heddle::http::framing how, std::uint64_t length);
  void fail(problem what) noexcept;

  static constexpr heddle::http::limits bounds = {
      .request_line_bytes_max = http_parser::line_max,
      .header_bytes_max = 16 * http_parser::line_max,
      .header_count_max = http_parser::headers_max,
      .empty_lines_max = 7,
      .body_bytes_max = http_parser::body_max,
  };

  bool request_;
  bool has_head_ = false;
  heddle::http::request_parser asked_{bounds};
  heddle::http::response_parser answered_{bounds};
  heddle::http::body_decoder body_{bounds};
};

}  // namespace tamer::detail

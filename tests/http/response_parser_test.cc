// SPDX-License-Identifier: MIT
// Heads of answers: what is accepted, what is refused, and that splits change nothing.
#include "heddle/http/response_parser.hh"

#include "support/test.hh"

namespace heddle::test {
namespace {

using http::framing;
using http::parse_state;
using http::problem;

/// The result for these bytes, whole and byte by byte.
problem head_error(std::string_view bytes, http::response_head* head = nullptr,
                   http::limits bounds = {}) {
  http::response_parser whole(bounds), split(bounds);
  std::string_view rest = bytes;
  const parse_state now = whole.feed(rest);
  parse_state then = parse_state::need_more;
  std::size_t used = 0;
  while (used < bytes.size() && then == parse_state::need_more) {
    std::string_view one = bytes.substr(used, 1);
    then = split.feed(one);
    used += 1 - one.size();
  }
  EXPECT_EQ(static_cast<int>(now), static_cast<int>(then)) << bytes;
  EXPECT_EQ(whole.error(), split.error()) << bytes;
  EXPECT_NE(static_cast<int>(now), static_cast<int>(parse_state::need_more)) << bytes;
  if (now == parse_state::done) {
    EXPECT_EQ(bytes.size() - rest.size(), used) << bytes;
    http::response_head taken = whole.take();
    if (head != nullptr) *head = std::move(taken);
  }
  return whole.error();
}

problem with_fields(std::string_view fields, http::response_head* head = nullptr) {
  return head_error("HTTP/1.1 200 OK\r\n" + std::string(fields) + "\r\n", head);
}

HEDDLE_TEST(response_parser, "a head gives its status, its fields and the rule for its body") {
  http::response_head h;
  EXPECT_EQ(
      head_error("HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\nX-A:  b \r\nx-a: c\r\n\r\nrest",
                 &h),
      problem::none);
  EXPECT_EQ(h.status(), 404);
  EXPECT_EQ(h.reason(), "Not Found");
  EXPECT_EQ(h.value("X-a"), "b");
  EXPECT_EQ(h.header_at(2).value, "c");
  EXPECT_TRUE(h.keep_alive());
  EXPECT_EQ(h.content_length(), 5u);
  EXPECT_EQ(h.body(http::method::get), framing::length);
  EXPECT_EQ(h.body(http::method::head), framing::none);
  EXPECT_EQ(with_fields("Transfer-Encoding: Chunked\r\nConnection: x, close\r\n", &h),
            problem::none);
  EXPECT_EQ(h.body(http::method::get), framing::chunked);
  EXPECT_FALSE(h.keep_alive());
  EXPECT_EQ(with_fields("", &h), problem::none);
  EXPECT_EQ(h.body(http::method::get), framing::until_close);
  EXPECT_EQ(h.body(http::method::connect), framing::none);
  EXPECT_EQ(head_error("HTTP/1.0 204\r\n\r\n", &h), problem::none);
  EXPECT_EQ(h.body(http::method::get), framing::none);
  EXPECT_FALSE(h.keep_alive());
}

HEDDLE_TEST(response_parser, "a bad status line is refused") {
  for (const char* line : {"HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1  200 OK",
                           "http/1.1 200 OK", "HTTP/1.1 099 x", "HTTP/1.1 2x0 OK", "ICY 200 OK", "",
                           "HTTP/11 200 OK", "HTTP/1.1\t200 OK", " HTTP/1.1 200 OK"})
    EXPECT_EQ(head_error(std::string(line) + "\r\n\r\n"), problem::status_line_malformed) << line;
  EXPECT_EQ(head_error("HTTP/2.0 200 OK\r\n\r\n"), problem::version_unsupported);
  EXPECT_EQ(head_error("HTTP/1.2 200 OK\r\n\r\n"), problem::version_unsupported);
  EXPECT_EQ(head_error("HTTP/1.1 200 O\x01K\r\n\r\n"), problem::value_bad_byte);
  EXPECT_EQ(head_error("HTTP/1.1 200 OK\n\r\n"), problem::bare_lf);
  EXPECT_EQ(head_error("HTTP/1.1 200 O\rK\r\n\r\n"), problem::bare_cr);
}

HEDDLE_TEST(response_parser, "lines that two programs may read differently are refused") {
  EXPECT_EQ(with_fields("A: b\n"), problem::bare_lf);
  EXPECT_EQ(with_fields("A: b\rC: d\r\n"), problem::bare_cr);
  EXPECT_EQ(with_fields("A: b\r\n c\r\n"), problem::line_folded);
  EXPECT_EQ(with_fields("A : b\r\n"), problem::space_before_colon);
  EXPECT_EQ(with_fields(": b\r\n"), problem::name_empty);
  EXPECT_EQ(with_fields("A\r\n"), problem::colon_missing);
  EXPECT_EQ(with_fields("A\x01: b\r\n"), problem::name_bad_byte);
  EXPECT_EQ(with_fields("A: b\x7f\r\n"), problem::value_bad_byte);
}

HEDDLE_TEST(response_parser, "a body has one length, or one coding, and never both") {
  const std::string te = "Transfer-Encoding: chunked\r\n", cl = "Content-Length: 3\r\n";
  EXPECT_EQ(with_fields(te + cl), problem::length_and_encoding);
  EXPECT_EQ(with_fields(cl + te), problem::length_and_encoding);
  EXPECT_EQ(with_fields(cl + cl), problem::length_repeated);
  EXPECT_EQ(with_fields("Content-Length: 3, 3\r\n"), problem::length_repeated);
  EXPECT_EQ(with_fields(te + te), problem::encoding_chunked_twice);
  for (const char* bad : {"+3", "-3", "0x3", "3 4", "", "3."})
    EXPECT_EQ(with_fields("Content-Length: " + std::string(bad) + "\r\n"),
              problem::length_malformed)
        << bad;
  EXPECT_EQ(with_fields("Content-Length: 9223372036854775808\r\n"), problem::length_overflow);
  EXPECT_EQ(with_fields("Transfer-Encoding: gzip, chunked\r\n"), problem::encoding_unknown);
  EXPECT_EQ(with_fields("Transfer-Encoding: xchunked\r\n"), problem::encoding_unknown);
  EXPECT_EQ(with_fields("Transfer-Encoding:\r\n"), problem::encoding_not_chunked);
  EXPECT_EQ(head_error("HTTP/1.0 200 OK\r\n" + te + "\r\n"), problem::encoding_in_http10);
}

HEDDLE_TEST(response_parser, "limits bound the head, whether its lines end or not") {
  http::limits tight;
  tight.request_line_bytes_max = 20;
  tight.header_bytes_max = 20;
  tight.header_count_max = 2;
  EXPECT_EQ(head_error("HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\n\r\n", nullptr, tight), problem::none);
  EXPECT_EQ(head_error("HTTP/1.1 200 OK\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", nullptr, tight),
            problem::headers_too_many);
  EXPECT_EQ(head_error("HTTP/1.1 200 OK\r\nA: 123456789012345678\r\n\r\n", nullptr, tight),
            problem::headers_too_large);
  EXPECT_EQ(head_error("HTTP/1.1 200 OK\r\nA: 12345678901234567890123", nullptr, tight),
            problem::headers_too_large);
  EXPECT_EQ(head_error("HTTP/1.1 200 OKOKOKOKOK\r\n\r\n", nullptr, tight),
            problem::status_line_malformed);
}

}  // namespace
}  // namespace heddle::test

// SPDX-License-Identifier: MIT
// WebSocket frames, by the sections of RFC 6455: whole, and split into pieces.
#include "heddle/http/detail/websocket_frames.hh"

#include <algorithm>

#include "support/test.hh"
#include "support/websocket_wire.hh"

using namespace heddle;
using namespace heddle::test;

namespace {

using event = http::websocket_reader::event;
using http::websocket_opcode;

struct outcome {
  std::string messages;  // each in brackets, with t or b before it
  std::string control;   // kinds in order: p, o, c
  event last = event::more;
  std::uint16_t code = 0;
};

/// Reads bytes in pieces of this size.
outcome read_all_of(std::string bytes, std::size_t piece = 1000, bool from_client = true,
                    std::uint64_t most = 1000) {
  http::websocket_reader r({most, 8, from_client, nullptr});
  outcome out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    std::span<char> in(bytes.data() + at, std::min(piece, bytes.size() - at));
    while (!in.empty()) {
      const event e = r.read(in);
      if (e == event::more) break;
      out.last = e;
      if (e == event::message) {
        const bool text = r.is_text();
        out.messages += (text ? "t[" : "b[") + r.take_message() + "]";
      }
      if (e == event::ping) out.control += "p[" + std::string(r.control()) + "]";
      if (e == event::pong) out.control += "o";
      if (e == event::close) out.control += "c[" + std::string(r.control()) + "]";
      if (e == event::close || e == event::failed) out.code = r.code();
    }
  }
  return out;
}

std::uint16_t code_of(const std::string& bytes) {
  const outcome whole = read_all_of(bytes);
  const outcome split = read_all_of(bytes, 1);
  EXPECT_EQ(whole.code, split.code);
  EXPECT_EQ(whole.last, split.last);
  return whole.last == event::failed ? whole.code : 0;
}

}  // namespace

HEDDLE_TEST(websocket_frames, "RFC 6455 5.2 and 5.7: heads, lengths, the examples") {
  EXPECT_EQ(wire(0x81, "Hello", false), std::string("\x81\x05Hello"));
  std::string masked("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11);
  EXPECT_EQ(read_all_of(masked).messages, "t[Hello]");
  EXPECT_EQ(read_all_of("\x01\x03Hel" + std::string("\x80\x02lo"), 1, false).messages, "t[Hello]");
  for (const std::size_t size : {0u, 1u, 7u, 8u, 9u, 125u, 126u, 127u, 999u}) {
    const std::string body(size, 'x');
    for (const std::size_t piece : {1u, 2u, 3u, 13u, 2000u}) {
      EXPECT_EQ(read_all_of(wire(0x82, body), piece).messages, "b[" + body + "]") << size;
      EXPECT_EQ(read_all_of(wire(0x82, body, false), piece, false).messages, "b[" + body + "]");
    }
  }
  EXPECT_EQ(http::make_websocket_head(websocket_opcode::text, true, false, 65536, false, 0).size,
            10u);
  EXPECT_EQ(code_of(wire(0xc1, "x")), 1002);  // RSV1 without an extension
  EXPECT_EQ(code_of(wire(0xa1, "x")), 1002);
  EXPECT_EQ(code_of(wire(0x91, "x")), 1002);
  for (const unsigned unknown : {3u, 4u, 5u, 6u, 7u, 11u, 12u, 13u, 14u, 15u})
    EXPECT_EQ(code_of(wire(0x80 | unknown, "")), 1002) << unknown;
  const std::string key("\1\2\3\4", 4);
  EXPECT_EQ(code_of(std::string("\x82\xfe\x00\x7d", 4) + key), 1002);  // 125 in two bytes
  EXPECT_EQ(code_of(std::string("\x82\xff\x00\x00\x00\x00\x00\x00\xff\xff", 10) + key), 1002);
  EXPECT_EQ(code_of(std::string("\x82\xff\x80\x00\x00\x00\x00\x00\x00\x00", 10) + key), 1002);
}

HEDDLE_TEST(websocket_frames, "RFC 6455 5.1 and 5.3: who masks, and how") {
  EXPECT_EQ(code_of(wire(0x81, "x", false)), 1002);
  EXPECT_EQ(read_all_of(wire(0x81, "x"), 1000, false).code, 1002);
  std::string text(100, 'a');
  const std::string plain = text;
  for (std::size_t from = 0; from != 9; ++from)  // piece by piece is the same as at once
    for (std::size_t size = 0; size + from <= 40; ++size) {
      std::string once = plain.substr(0, from + size);
      std::string twice = once;
      http::mask_websocket(once.data(), once.size(), 0xa1b2c3d4, 0);
      http::mask_websocket(twice.data(), from, 0xa1b2c3d4, 0);
      http::mask_websocket(twice.data() + from, size, 0xa1b2c3d4, from);
      EXPECT_EQ(once, twice);
    }
}

HEDDLE_TEST(websocket_frames, "RFC 6455 5.4: fragments, and control frames between them") {
  const std::string message =
      wire(0x01, "He") + wire(0x89, "?") + wire(0x00, "l") + wire(0x8a, "") + wire(0x80, "lo");
  for (const std::size_t piece : {1u, 5u, 1000u}) {
    EXPECT_EQ(read_all_of(message, piece).messages, "t[Hello]");
    EXPECT_EQ(read_all_of(message, piece).control, "p[?]o");
  }
  EXPECT_EQ(code_of(wire(0x80, "x")), 1002);
  EXPECT_EQ(code_of(wire(0x00, "x")), 1002);
  EXPECT_EQ(code_of(wire(0x01, "x") + wire(0x81, "y")), 1002);
  EXPECT_EQ(read_all_of(wire(0x02, "") + wire(0x80, "")).messages, "b[]");
  std::string many = wire(0x01, "");
  for (int i = 0; i != 8; ++i) many += wire(0x00, "");
  EXPECT_EQ(code_of(many), 1009);  // more than eight
}

HEDDLE_TEST(websocket_frames, "RFC 6455 5.5: control frames are short and whole") {
  EXPECT_EQ(code_of(wire(0x09, "")), 1002);
  EXPECT_EQ(code_of(wire(0x89, std::string(126, 'x'))), 1002);
  EXPECT_EQ(read_all_of(wire(0x89, std::string(125, 'x'))).control,
            "p[" + std::string(125, 'x') + "]");
}

HEDDLE_TEST(websocket_frames, "RFC 6455 5.5.1 and 7.4: close frames and their codes") {
  const auto close = [](unsigned code, std::string reason = "") {
    return wire(0x88, std::string{static_cast<char>(code >> 8), static_cast<char>(code)} + reason);
  };
  EXPECT_EQ(read_all_of(wire(0x88, "")).code, 1005);
  EXPECT_EQ(read_all_of(close(1000, "bye") + wire(0x81, "late")).control, "c[bye]");
  EXPECT_EQ(read_all_of(close(1000) + wire(0x81, "late")).messages, "");
  EXPECT_EQ(code_of(wire(0x88, "x")), 1002);
  for (const unsigned good : {1000u, 1001u, 1003u, 1007u, 1011u, 1014u, 3000u, 4999u})
    EXPECT_EQ(read_all_of(close(good)).control, "c[]") << good;
  for (const unsigned bad : {0u, 999u, 1004u, 1005u, 1006u, 1015u, 1016u, 2999u, 5000u})
    EXPECT_EQ(code_of(close(bad)), 1002) << bad;
  EXPECT_EQ(code_of(close(1000, "\xff")), 1007);
}

HEDDLE_TEST(websocket_frames,
            "RFC 6455 5.6 and 8.1: text is UTF-8, found at the first wrong byte") {
  for (const char* good : {"", "\u00e9\u20ac\U0001f600", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf"})
    for (const std::size_t piece : {1u, 1000u})
      EXPECT_EQ(read_all_of(wire(0x81, good), piece).messages, "t[" + std::string(good) + "]");
  for (const char* bad : {"\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8",
                          "\x80", "a\xe2\x82", "\xe2(\xa1", "12345678\xff"})
    EXPECT_EQ(code_of(wire(0x81, bad)), 1007) << bad;
  // A character may be split between fragments; a wrong one fails before the message is whole.
  EXPECT_EQ(read_all_of(wire(0x01, "\xe2\x82") + wire(0x80, "\xac")).messages, "t[\u20ac]");
  EXPECT_EQ(code_of(wire(0x01, "\xce\xba\xed\xa0\x80")), 1007);
  EXPECT_EQ(read_all_of(wire(0x82, "\xff")).messages, "b[\xff]");
}

HEDDLE_TEST(websocket_frames, "RFC 6455 10.4: no message beyond the limit, in one frame or many") {
  EXPECT_EQ(read_all_of(wire(0x82, std::string(1000, 'x'))).messages.size(), 1003u);
  EXPECT_EQ(code_of(wire(0x82, std::string(1001, 'x'))), 1009);
  EXPECT_EQ(code_of(wire(0x02, std::string(600, 'x')) + wire(0x80, std::string(401, 'x'))), 1009);
}

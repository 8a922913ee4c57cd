// SPDX-License-Identifier: MIT
// The chunked decoder against cases/chunked.txt, whole, cut at every byte and byte by byte, and
// against what the encoder writes.
#include "heddle/http/chunked.hh"

#include <cstring>
#include <memory>
#include <sstream>

#include "case_file.hh"
#include "support/test.hh"

namespace {

using namespace heddle::http;
using heddle::test::case_line;
using heddle::test::unescape;
using kind = chunk_piece::kind;

struct decoded {
  kind end = kind::need_more;
  std::string body;
  std::string trailers;
  std::size_t consumed = 0;
  problem error = problem::none;

  bool operator==(const decoded& other) const {
    if (end != other.end || error != other.error) return false;
    // How much came out before a failure depends on the cuts; what failed does not.
    return end == kind::failed ||
           (body == other.body && trailers == other.trailers && consumed == other.consumed);
  }
};

void feed(chunked_decoder& decoder, std::string_view bytes, decoded& into) {
  auto copy = std::make_unique<char[]>(bytes.size());  // exact, so that reading past it shows
  if (!bytes.empty()) std::memcpy(copy.get(), bytes.data(), bytes.size());
  std::string_view input{copy.get(), bytes.size()};
  while (true) {
    chunk_piece piece = decoder.feed(input);
    into.consumed += piece.consumed;
    input.remove_prefix(piece.consumed);
    into.end = piece.what;
    if (piece.what == kind::data) into.body += piece.bytes;
    if (piece.what == kind::trailer) into.trailers += piece.bytes;
    if (piece.what != kind::data && piece.what != kind::trailer) break;
  }
  into.error = decoder.error();
}

decoded decode(const limits& bounds, std::string_view bytes, std::size_t cut, std::size_t step) {
  chunked_decoder decoder(bounds);
  decoded result;
  feed(decoder, bytes.substr(0, cut), result);
  for (std::size_t at = cut; at < bytes.size() && result.end == kind::need_more; at += step) {
    feed(decoder, bytes.substr(at, step), result);
  }
  return result;
}

HEDDLE_TEST(chunked, "answers every case of its table, however the input is cut") {
  for (const auto& entry : heddle::test::read_cases("chunked.txt")) {
    SCOPED_TRACE(entry.place + " " + entry.name);
    std::string bytes;
    limits bounds;
    decoded wanted;
    wanted.end = kind::done;
    std::size_t rest = 0;
    int status = 200;
    for (const case_line& line : entry.lines) {
      std::istringstream in(line.rest);
      std::string word;
      std::uint32_t number = 0;
      if (line.word == ">") {
        bytes += unescape(line.rest);
      } else if (line.word == "repeat") {
        std::string text = unescape(line.rest.substr(line.rest.find(' ') + 1));
        for (int i = std::stoi(line.rest); i > 0; --i) bytes += text;
      } else if (line.word == "limit") {
        in >> word >> number;
        if (word == "body_bytes_max")
          bounds.body_bytes_max = number;
        else if (word == "trailer_bytes_max")
          bounds.trailer_bytes_max = number;
        else if (word == "chunk_extension_bytes_max")
          bounds.chunk_extension_bytes_max = number;
        else
          FAIL() << word;
      } else if (line.word == "body") {
        wanted.body = unescape(line.rest);
      } else if (line.word == "trailers") {
        wanted.trailers = unescape(line.rest);
      } else if (line.word == "rest") {
        in >> rest;
      } else if (line.word == "more") {
        wanted.end = kind::need_more;
      } else if (line.word == "fails") {
        in >> word >> status;
        wanted.end = kind::failed;
      } else {
        ASSERT_EQ(line.word, "why");
      }
      if (line.word == "fails") {
        for (std::uint8_t i = 0; i < problem_count; ++i) {
          if (name_of(static_cast<problem>(i)) == word) wanted.error = static_cast<problem>(i);
        }
        ASSERT_NE(wanted.error, problem::none) << word;
      }
    }
    wanted.consumed = bytes.size() - rest;
    decoded whole = decode(bounds, bytes, bytes.size(), 1);
    EXPECT_EQ(name_of(whole.error), name_of(wanted.error));
    EXPECT_EQ(status_of(whole.error), status);
    if (wanted.end != kind::need_more) EXPECT_EQ(whole, wanted) << whole.body;
    EXPECT_EQ(whole.end, wanted.end);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      EXPECT_EQ(decode(bounds, bytes, cut, bytes.size()), whole) << "cut at " << cut;
    }
    EXPECT_EQ(decode(bounds, bytes, 0, 1), whole);
  }
}

HEDDLE_TEST(chunked, "decodes what the encoder writes, without a copy") {
  std::string body;
  std::string wire;
  for (std::size_t size : {1u, 9u, 10u, 15u, 16u, 255u, 256u, 4096u, 70000u}) {
    std::string data(size, static_cast<char>('a' + size % 26));
    body += data;
    wire += chunk_head(size).text();
    wire += data;
    wire += chunk_end;
  }
  wire += last_chunk;
  limits bounds;
  decoded result = decode(bounds, wire, wire.size(), 1);
  EXPECT_EQ(result.end, kind::done);
  EXPECT_EQ(result.body, body);
  EXPECT_EQ(chunk_head(0xfedcba9876543210u).text(), "fedcba9876543210\r\n");

  chunked_decoder decoder(bounds);
  std::string_view input = "3\r\nabc\r\n";
  chunk_piece piece = decoder.feed(input);
  EXPECT_EQ(piece.what, kind::data);
  EXPECT_EQ(piece.bytes.data(), input.data() + 3);
  EXPECT_EQ(decoder.body_bytes(), 3u);
  decoder.reset();
  EXPECT_EQ(decoder.feed("0\r\n\r\n").what, kind::done);
}

HEDDLE_TEST(chunked, "takes no field from a trailer that framed or routed the message") {
  for (std::string_view name : {"Content-Length", "transfer-encoding", "HOST", "Trailer",
                                "Authorization", "Content-Type", "If-Match", "bad name"}) {
    EXPECT_FALSE(trailer_allowed(name)) << name;
  }
  EXPECT_TRUE(trailer_allowed("Checksum"));
  EXPECT_TRUE(trailer_allowed("Server-Timing"));
}

}  // namespace

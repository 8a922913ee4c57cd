// SPDX-License-Identifier: MIT
// Answers' heads, and the media types that stand in them.
#include "heddle/http/head_writer.hh"

#include <initializer_list>
#include <string>

#include "heddle/http/mime.hh"
#include "support/test.hh"

namespace {

using namespace heddle::http;
using problem_kind = head_writer::problem;

HEDDLE_TEST(head_writer, "assembles a head in the order in which it was told") {
  char buffer[256];
  date_line clock_line;
  head_writer head(buffer);
  head.status(200).field("Content-Type", "text/html").date(clock_line, 784111777);
  head.content_length(1234567890).field("X-Empty", "").field("Age", 42u).lines("A: b\r\n");
  EXPECT_EQ(head.finish(),
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 1234567890\r\n"
            "X-Empty: \r\nAge: 42\r\nA: b\r\n\r\n");
  EXPECT_EQ(head.error(), problem_kind::none);
}

HEDDLE_TEST(head_writer, "writes statuses that have no phrase, and phrases of the caller's") {
  char buffer[64];
  EXPECT_EQ(head_writer(buffer).status(299).finish(), "HTTP/1.1 299 \r\n\r\n");
  EXPECT_EQ(head_writer(buffer).status(200, "Fine").finish(), "HTTP/1.1 200 Fine\r\n\r\n");
  head_writer low(buffer);
  EXPECT_EQ(low.status(99).finish(), "");
  EXPECT_EQ(low.error(), problem_kind::status_bad);
}

HEDDLE_TEST(head_writer, "refuses whatever could end a line early, and then everything") {
  char buffer[256];
  for (const std::string& bad : std::initializer_list<std::string>{
           "a\rb", "a\nb", "a\r\nSet-Cookie: x=1", std::string("a\0b", 3), "\x7f",
           std::string(40, 'a') + "\n"}) {
    head_writer head(buffer);
    head.status(200).field("Location", bad).field("After", "x");
    EXPECT_EQ(head.finish(), "") << bad;
    EXPECT_EQ(head.error(), problem_kind::value_bad);
    EXPECT_EQ(head.text(), "HTTP/1.1 200 OK\r\n");
    head_writer phrase(buffer);
    EXPECT_EQ(phrase.status(200, bad).finish(), "");
  }
  for (std::string_view bad : {"", "a b", "a:", "a\r\nb", "\xc3"}) {
    head_writer head(buffer);
    EXPECT_EQ(head.status(200).field(bad, "x").finish(), "") << bad;
    EXPECT_EQ(head.error(), problem_kind::name_bad);
  }
  head_writer tab(buffer);
  EXPECT_EQ(tab.field("A", "b\tc \xc3\xa9").finish(), "A: b\tc \xc3\xa9\r\n\r\n");
}

HEDDLE_TEST(head_writer, "never writes past its buffer") {
  char buffer[64];
  for (std::size_t size = 0; size <= 45; ++size) {
    std::string guarded(size, '.');
    head_writer head(std::span<char>(guarded.data(), size));
    head.status(200).field("A", "b").field("N", 18446744073709551615u);
    std::string_view text = head.finish();
    EXPECT_EQ(text.empty(), size < 17 + 6 + 25 + 2) << size;
  }
  head_writer exact(std::span<char>(buffer, 50));
  exact.status(200).field("A", "b").field("N", 18446744073709551615u);
  EXPECT_EQ(exact.finish().size(), 50u);
  head_writer over(std::span<char>(buffer, 49));
  over.status(200).field("A", "b").field("N", 18446744073709551615u);
  EXPECT_EQ(over.finish(), "");
  EXPECT_EQ(over.error(), problem_kind::no_room);
}

HEDDLE_TEST(head_writer, "writes every length of number") {
  std::uint64_t number = 0;
  for (int digits = 1; digits <= 20; ++digits) {
    for (std::uint64_t n : {number, number + 1, number * 2 + 7}) {
      char text[20];
      EXPECT_EQ(std::string(text, write_decimal(text, n)), std::to_string(n));
    }
    number = number == 0 ? 9 : number * 10 + 9;
  }
}

HEDDLE_TEST(mime, "knows what browsers need, by the last extension in any case") {
  EXPECT_EQ(mime_type_of("/a/index.html"), "text/html; charset=utf-8");
  EXPECT_EQ(mime_type_of("APP.JS"), "text/javascript; charset=utf-8");
  EXPECT_EQ(mime_type_of("a.tar.gz"), "application/gzip");
  EXPECT_EQ(mime_type_of("x.wasm"), "application/wasm");
  EXPECT_EQ(mime_type_of("x.svg"), "image/svg+xml");
  EXPECT_EQ(mime_type_of("x.woff2"), "font/woff2");
  EXPECT_EQ(mime_type_of("x.json"), "application/json");
  EXPECT_EQ(mime_type_of("x.mp4"), "video/mp4");
  EXPECT_EQ(mime_type_of("x.blend"), "application/x-blender");  // from shared-mime-info alone
  EXPECT_EQ(mime_type_of("x.ts"), "video/mp2t");                // which has another there
  EXPECT_EQ(mime_type_of("x.zig"), "application/octet-stream");
  EXPECT_GT(mime_extension_count(), 800u);
  for (std::string_view unknown : {"", ".", "a", "a.", "a.b/c", "x.nonesuch",
                                   "x.anextensionfarlongerthananyother", "x.\xff"}) {
    EXPECT_EQ(mime_type_of(unknown), mime_default) << unknown;
  }
  EXPECT_GE(mime_extension_count(), 200u);
}

HEDDLE_TEST(mime, "knows what is worth compressing") {
  for (std::string_view type : {"text/html; charset=utf-8", "application/json", "image/svg+xml",
                                "application/ld+json", "application/wasm"}) {
    EXPECT_TRUE(mime_compressible(type)) << type;
  }
  for (std::string_view type : {"image/png", "video/mp4", "application/gzip", "font/woff2"}) {
    EXPECT_FALSE(mime_compressible(type)) << type;
  }
}

}  // namespace

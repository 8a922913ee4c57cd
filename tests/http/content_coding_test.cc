// SPDX-License-Identifier: MIT
// Which coding a client gets, and gzip itself.
#include "heddle/http/content_coding.hh"

#include "support/test.hh"

using namespace heddle::http;

namespace {

constexpr coding_set all_codings =
    coding_set().with(content_coding::brotli).with(content_coding::zstd).with(content_coding::gzip);

std::string_view chosen(std::string_view accept, coding_set have = all_codings) {
  const std::string_view name = name_of(choose_coding(accept, have));
  return name.empty() ? "identity" : name;
}

}  // namespace

HEDDLE_TEST(content_coding, "the highest weight wins, and our preference among equals") {
  EXPECT_EQ(chosen("gzip, br, zstd"), "br");
  EXPECT_EQ(chosen("gzip, zstd"), "zstd");
  EXPECT_EQ(chosen("br;q=0.5, gzip;q=0.75"), "gzip");
  EXPECT_EQ(chosen("br;q=0.001, gzip;q=0"), "br");
  EXPECT_EQ(chosen("GZIP;Q=1.000"), "gzip");
  EXPECT_EQ(chosen("gzip ; q=0.2 , identity ; q=0.1"), "gzip");
  EXPECT_EQ(chosen("gzip;q=0.2, identity;q=0.9"), "identity");
  EXPECT_EQ(chosen("br, gzip", coding_set().with(content_coding::gzip)), "gzip");
}

HEDDLE_TEST(content_coding, "what is refused, unknown or absent gives the file as it is") {
  EXPECT_EQ(chosen(""), "identity");
  EXPECT_EQ(chosen("deflate, compress"), "identity");
  EXPECT_EQ(chosen("br;q=0, zstd;q=0.0, gzip;q=0.000"), "identity");
  EXPECT_EQ(chosen("*;q=0"), "identity");
  EXPECT_EQ(chosen("identity;q=0"), "identity");  // a readable answer instead of a 406
  EXPECT_EQ(chosen("gzip, br", coding_set()), "identity");
  EXPECT_EQ(chosen(" , ,, "), "identity");
}

HEDDLE_TEST(content_coding, "a star stands for what is not named") {
  EXPECT_EQ(chosen("*"), "br");
  EXPECT_EQ(chosen("br;q=0, *"), "zstd");
  EXPECT_EQ(chosen("*;q=0.1, gzip"), "gzip");
  EXPECT_EQ(chosen("gzip, *;q=0"), "gzip");
}

HEDDLE_TEST(content_coding, "a weight that is none counts as one, since the coding was named") {
  for (const char* weight : {"q=", "q=x", "q=2", "q=1.5", "q=0.1234", "q=0x1", "level=9", ""})
    EXPECT_EQ(chosen(std::string("br;q=0.9, gzip;") + weight), "gzip") << weight;
}

HEDDLE_TEST(content_coding,
            "gzip gives the same bytes each time, and nothing when it gains nothing") {
  if (!can_compress()) GTEST_SKIP() << "built without zlib";
  const std::string text(10'000, 'a');
  const auto packed = gzip(text);
  ASSERT_TRUE(packed);
  EXPECT_LT(packed->size(), 100u);
  EXPECT_EQ(packed->substr(0, 3), "\x1f\x8b\x08");
  EXPECT_EQ(packed->substr(4, 4), std::string(4, '\0'));  // no date
  EXPECT_EQ(gzip(text), packed);
  EXPECT_FALSE(gzip("abc"));
  EXPECT_FALSE(gzip(""));
}

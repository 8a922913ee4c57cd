// SPDX-License-Identifier: MIT
// Entity tags, preconditions in their order, and ranges: requests are parsed from text, so that
// what is tested is what a client can send.
#include "heddle/http/conditional.hh"

#include <string>

#include "heddle/http/date.hh"
#include "heddle/http/etag.hh"
#include "heddle/http/parser.hh"
#include "heddle/http/range.hh"
#include "support/test.hh"

namespace {

using namespace heddle::http;

constexpr std::int64_t changed = 784111777;  // Sun, 06 Nov 1994 08:49:37 GMT
constexpr std::int64_t now = changed + 1000;
constexpr std::string_view same = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr std::string_view before = "Sun, 06 Nov 1994 08:49:36 GMT";
constexpr std::string_view after = "Sun, 06 Nov 1994 08:49:38 GMT";

condition_result outcome_of(std::string fields, std::string_view verb = "GET",
                            validators current = {"\"a\"", changed, true}, std::int64_t at = now) {
  std::string bytes = std::string(verb) + " / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
  limits bounds;
  request_parser parser(bounds);
  EXPECT_EQ(parser.feed(bytes), parse_state::done) << bytes;
  return evaluate(parser.head(), current, at);
}

std::string line(std::string_view name, std::string_view value) {
  return std::string(name) + ": " + std::string(value) + "\r\n";
}

HEDDLE_TEST(conditional, "proceeds without preconditions") {
  EXPECT_EQ(outcome_of("").what, condition::proceed);
  EXPECT_FALSE(outcome_of("").use_range);
}

HEDDLE_TEST(conditional, "compares If-Match strongly") {
  EXPECT_EQ(outcome_of("If-Match: \"a\"\r\n", "PUT").what, condition::proceed);
  EXPECT_EQ(outcome_of("If-Match: \"b\", \"a\"\r\n", "PUT").what, condition::proceed);
  EXPECT_EQ(outcome_of("If-Match: \"b\"\r\nIf-Match: \"a\"\r\n", "PUT").what, condition::proceed);
  EXPECT_EQ(outcome_of("If-Match: \"b\"\r\n", "PUT").what, condition::precondition_failed);
  EXPECT_EQ(outcome_of("If-Match: W/\"a\"\r\n", "PUT").what, condition::precondition_failed);
  EXPECT_EQ(outcome_of("If-Match: a\r\n", "PUT").what, condition::precondition_failed);
  EXPECT_EQ(outcome_of("If-Match: *\r\n", "PUT").what, condition::proceed);
  EXPECT_EQ(outcome_of("If-Match: *\r\n", "PUT", {"", std::nullopt, false}).what,
            condition::precondition_failed);
  EXPECT_EQ(outcome_of("If-Match: W/\"a\"\r\n", "PUT", {"W/\"a\"", changed, true}).what,
            condition::precondition_failed);
}

HEDDLE_TEST(conditional, "compares If-None-Match weakly") {
  EXPECT_EQ(outcome_of("If-None-Match: \"a\"\r\n").what, condition::not_modified);
  EXPECT_EQ(outcome_of("If-None-Match: W/\"a\"\r\n").what, condition::not_modified);
  EXPECT_EQ(outcome_of("If-None-Match: \"b\" , ,W/\"a\"\r\n").what, condition::not_modified);
  EXPECT_EQ(outcome_of("If-None-Match: \"b\"\r\nIf-None-Match: \"a\"\r\n").what,
            condition::not_modified);
  EXPECT_EQ(outcome_of("If-None-Match: \"b\"\r\n").what, condition::proceed);
  EXPECT_EQ(outcome_of("If-None-Match: *\r\n").what, condition::not_modified);
  EXPECT_EQ(outcome_of("If-None-Match: *\r\n", "PUT").what, condition::precondition_failed);
  EXPECT_EQ(outcome_of("If-None-Match: *\r\n", "PUT", {"", std::nullopt, false}).what,
            condition::proceed);
  EXPECT_EQ(outcome_of("If-None-Match: \"a\"\r\n", "HEAD").what, condition::not_modified);
  EXPECT_EQ(outcome_of("If-None-Match: \"a\"\r\n", "DELETE").what, condition::precondition_failed);
}

HEDDLE_TEST(conditional, "compares dates to the second") {
  EXPECT_EQ(outcome_of(line("If-Modified-Since", same)).what, condition::not_modified);
  EXPECT_EQ(outcome_of(line("If-Modified-Since", after)).what, condition::not_modified);
  EXPECT_EQ(outcome_of(line("If-Modified-Since", before)).what, condition::proceed);
  EXPECT_EQ(outcome_of(line("If-Modified-Since", same), "POST").what, condition::proceed);
  EXPECT_EQ(outcome_of("If-Modified-Since: yesterday\r\n").what, condition::proceed);
  EXPECT_EQ(outcome_of(line("If-Modified-Since", same), "GET", {"", std::nullopt, true}).what,
            condition::proceed);
  EXPECT_EQ(outcome_of(line("If-Unmodified-Since", same), "PUT").what, condition::proceed);
  EXPECT_EQ(outcome_of(line("If-Unmodified-Since", before), "PUT").what,
            condition::precondition_failed);
  EXPECT_EQ(outcome_of("If-Unmodified-Since: yesterday\r\n", "PUT").what, condition::proceed);
}

HEDDLE_TEST(conditional, "evaluates in order: a tag silences its date, a failure ends it") {
  EXPECT_EQ(outcome_of("If-None-Match: \"b\"\r\n" + line("If-Modified-Since", same)).what,
            condition::proceed);
  EXPECT_EQ(outcome_of("If-Match: \"a\"\r\n" + line("If-Unmodified-Since", before)).what,
            condition::proceed);
  EXPECT_EQ(outcome_of("If-None-Match: \"a\"\r\nIf-Match: \"b\"\r\n").what,
            condition::precondition_failed);
  EXPECT_EQ(outcome_of(line("If-Unmodified-Since", before) + "If-None-Match: \"a\"\r\n").what,
            condition::precondition_failed);
  EXPECT_EQ(outcome_of("If-Match: \"b\"\r\n", "OPTIONS").what, condition::proceed);
}

HEDDLE_TEST(conditional, "lets If-Range decide about the range") {
  std::string range = "Range: bytes=0-1\r\n";
  EXPECT_TRUE(outcome_of(range).use_range);
  EXPECT_FALSE(outcome_of(range, "HEAD").use_range);
  EXPECT_FALSE(outcome_of(range + range).use_range);
  EXPECT_TRUE(outcome_of(range + "If-Range: \"a\"\r\n").use_range);
  EXPECT_FALSE(outcome_of(range + "If-Range: \"b\"\r\n").use_range);
  EXPECT_FALSE(outcome_of(range + "If-Range: W/\"a\"\r\n").use_range);
  EXPECT_FALSE(outcome_of(range + "If-Range: \"a\", \"b\"\r\n").use_range);
  EXPECT_TRUE(outcome_of(range + line("If-Range", same)).use_range);
  EXPECT_FALSE(outcome_of(range + line("If-Range", after)).use_range);
  EXPECT_FALSE(outcome_of(range + line("If-Range", before)).use_range);
  EXPECT_FALSE(
      outcome_of(range + line("If-Range", same), "GET", {"\"a\"", changed, true}, changed + 1)
          .use_range);
  EXPECT_FALSE(outcome_of("If-Range: \"a\"\r\n").use_range);
  EXPECT_FALSE(outcome_of(range + "If-None-Match: \"a\"\r\n").use_range);
}

HEDDLE_TEST(etag, "is made of what tells two states of a file apart") {
  EXPECT_EQ(file_etag({0x801, 0x12, 0x3400, 0x56, 0x78}).text(), "\"801-12-3400-56-78\"");
  EXPECT_EQ(file_etag({}).text(), "\"0-0-0-0-0\"");
  constexpr std::uint64_t most = UINT64_MAX;
  EXPECT_EQ(file_etag({most, most, most, 1ull << 60, most}).text(),
            "\"ffffffffffffffff-ffffffffffffffff-ffffffffffffffff-1000000000000000-"
            "ffffffffffffffff\"");
}

HEDDLE_TEST(etag, "is found in lists even when it holds commas") {
  EXPECT_TRUE(etag_listed("\"a,b\" , \"c\"", "\"a,b\"", etag_comparison::strong));
  EXPECT_TRUE(etag_listed("\"\"", "\"\"", etag_comparison::strong));
  EXPECT_FALSE(etag_listed("\"a\" \"b\"", "\"b\"", etag_comparison::weak));
  EXPECT_FALSE(etag_listed("\"a", "\"a\"", etag_comparison::weak));
  EXPECT_FALSE(etag_listed("w/\"a\"", "\"a\"", etag_comparison::weak));
  EXPECT_FALSE(etag_listed("\"A\"", "\"a\"", etag_comparison::weak));
  EXPECT_FALSE(etag_listed("\"a\"", "W/\"a\"", etag_comparison::strong));
  EXPECT_TRUE(etag_listed("\"a\"", "W/\"a\"", etag_comparison::weak));
}

struct wanted_range {
  std::string_view value;
  range_answer answer;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

HEDDLE_TEST(range, "reads single ranges of a thousand bytes") {
  using enum range_answer;
  for (const wanted_range& wanted : {wanted_range{"bytes=0-0", single, 0, 0},
                                     {"bytes=0-999", single, 0, 999},
                                     {"bytes=10-", single, 10, 999},
                                     {"bytes=-10", single, 990, 999},
                                     {"bytes=-1000", single, 0, 999},
                                     {"bytes=-5000", single, 0, 999},
                                     {"bytes=999-5000", single, 999, 999},
                                     {"Bytes= 5-6 ,", single, 5, 6},
                                     {"bytes=5-6, 2000-", single, 5, 6},
                                     {"bytes=0-99999999999999999999999", single, 0, 999},
                                     {"bytes=18446744073709551616-", unsatisfiable},
                                     {"bytes=5-18446744073709551617", single, 5, 999},
                                     {"bytes=1000-", unsatisfiable},
                                     {"bytes=1000-2000", unsatisfiable},
                                     {"bytes=-0", unsatisfiable},
                                     {"bytes=99999999999999999999999-", unsatisfiable},
                                     {"bytes=2-1", whole},
                                     {"bytes=-", whole},
                                     {"bytes=", whole},
                                     {"bytes", whole},
                                     {"bytes=a-b", whole},
                                     {"bytes=1-b", whole},
                                     {"bytes=+1-2", whole},
                                     {"bytes=1-2-3", whole},
                                     {"bytes=1", whole},
                                     {"lines=1-2", whole},
                                     {"", whole},
                                     {"bytes=1 - 2", whole},
                                     {"bytes=--1", whole},
                                     {"bytes=0-1,x", whole},
                                     {"bytes =0-1", whole},
                                     {"bytes=0x1-2", whole}}) {
    range_set set = parse_ranges(wanted.value, 1000);
    EXPECT_EQ(set.answer(), wanted.answer) << wanted.value;
    if (wanted.answer == single) {
      ASSERT_EQ(set.ranges().size(), 1u);
      EXPECT_EQ(set.front().first, wanted.first) << wanted.value;
      EXPECT_EQ(set.front().last, wanted.last) << wanted.value;
    }
  }
}

HEDDLE_TEST(range, "has nothing to give of an empty file") {
  EXPECT_EQ(parse_ranges("bytes=0-", 0).answer(), range_answer::unsatisfiable);
  EXPECT_EQ(parse_ranges("bytes=-5", 0).answer(), range_answer::unsatisfiable);
}

HEDDLE_TEST(range, "reads several ranges, within bounds") {
  range_set set = parse_ranges("bytes=0-9,20-29,-5", 1000);
  EXPECT_EQ(set.answer(), range_answer::multiple);
  ASSERT_EQ(set.ranges().size(), 3u);
  EXPECT_EQ(set.ranges()[2].first, 995u);
  EXPECT_EQ(set.ranges()[2].length(), 5u);
  std::string many = "bytes=0-0";
  for (int i = 1; i < 16; ++i) many += "," + std::to_string(i * 2) + "-" + std::to_string(i * 2);
  EXPECT_EQ(parse_ranges(many, 1000).answer(), range_answer::multiple);
  EXPECT_EQ(parse_ranges(many + ",900-", 1000).answer(), range_answer::whole);
  EXPECT_EQ(parse_ranges("bytes=0-,0-,0-", 1000).answer(), range_answer::whole);
}

HEDDLE_TEST(range, "writes Content-Range") {
  EXPECT_EQ(content_range({0, 99}, 1000).text(), "bytes 0-99/1000");
  EXPECT_EQ(content_range({UINT64_MAX - 1, UINT64_MAX}, UINT64_MAX).text(),
            "bytes 18446744073709551614-18446744073709551615/18446744073709551615");
  EXPECT_EQ(content_range::unsatisfied(7).text(), "bytes */7");
}

}  // namespace

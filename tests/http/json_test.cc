// SPDX-License-Identifier: MIT
// The reader of JSON: values, and every kind of text that it must refuse. Where nlohmann-json is
// installed, it is the judge of both lists.
#include "heddle/http/detail/json.hh"

#include "heddle/base/error.hh"
#include "support/test.hh"

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#define HEDDLE_JUDGE 1
#endif

namespace heddle {
namespace {

using http::detail::json;

const char* const good_texts[] = {"null",
                                  " true ",
                                  "false",
                                  "0",
                                  "-0.5e+10",
                                  "1E2",
                                  "\"\"",
                                  "\"\\u00e9\\ud83d\\ude00\\n\"",
                                  "[]",
                                  "[1,[2,{}]]",
                                  "{\"a\":{\"b\":[true]},\"c\":\"\"}",
                                  "\t{\r\n}",
                                  "\"\xc3\xa9\xf0\x9f\x98\x80\""};

const char* const bad_texts[] = {"",
                                 " ",
                                 "nul",
                                 "TRUE",
                                 "01",
                                 "1.",
                                 ".5",
                                 "+1",
                                 "1e",
                                 "-",
                                 "NaN",
                                 "\"",
                                 "\"\\x\"",
                                 "\"\\u12\"",
                                 "\"\\ud800\"",
                                 "\"\\udc00\"",
                                 "\"\\ud800\\u0041\"",
                                 "\"a\nb\"",
                                 "[1,]",
                                 "[,1]",
                                 "[1 2]",
                                 "[",
                                 "{\"a\"}",
                                 "{\"a\":}",
                                 "{a:1}",
                                 "{\"a\":1,}",
                                 "{",
                                 "{}x",
                                 "1 2",
                                 "\"\xff\"",
                                 "\"\xc0\xaf\"",
                                 "\"\xed\xa0\x80\"",
                                 "\"\xf4\x90\x80\x80\"",
                                 "\"\xe2\x82\"",
                                 "// c\n1",
                                 "'a'"};

bool reads(std::string_view text) {
  try {
    static_cast<void>(json::parse(text));
    return true;
  } catch (const failure& e) {
    EXPECT_EQ(e.code(), std::errc::bad_message);
    return false;
  }
}

HEDDLE_TEST(json_text, "good texts are read, and bad ones are refused with their place") {
  for (const char* text : good_texts) EXPECT_TRUE(reads(text)) << text;
  for (const char* text : bad_texts) EXPECT_FALSE(reads(text)) << text;
  try {
    static_cast<void>(json::parse("[1,"));
  } catch (const failure& e) {
    EXPECT_NE(std::string(e.what()).find("at byte 3"), std::string::npos) << e.what();
  }
#ifdef HEDDLE_JUDGE
  for (const char* text : good_texts) EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  for (const char* text : bad_texts) EXPECT_FALSE(nlohmann::json::accept(text)) << text;
#endif
}

HEDDLE_TEST(json_text, "values are found by their names, and missing ones are empty") {
  const json doc = json::parse(
      R"({"status":"valid","list":["a","b"],"n":-2.5,"yes":true,"x":"\u00e9\ud83d\ude00\/"})");
  EXPECT_EQ(doc["status"].text(), "valid");
  EXPECT_EQ(doc["list"].items().size(), 2u);
  EXPECT_EQ(doc["list"].items()[1].text(), "b");
  EXPECT_EQ(doc["n"].number(), -2.5);
  EXPECT_EQ(doc["n"].number_text(), "-2.5");
  EXPECT_EQ(doc["n"].text(), "");
  EXPECT_TRUE(doc["yes"].truth());
  EXPECT_EQ(doc["x"].text(), "\xc3\xa9\xf0\x9f\x98\x80/");
  EXPECT_EQ(doc["none"]["deeper"].text(), "");
  EXPECT_EQ(doc["status"]["deeper"].what(), json::kind::null);
  EXPECT_FALSE(doc["status"].truth());
}

HEDDLE_TEST(json_text, "names do not repeat, and depth and size are bounded") {
  EXPECT_FALSE(reads(R"({"a":1,"a":2})"));
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(reads(nested(32)));
  EXPECT_FALSE(reads(nested(33)));
  EXPECT_FALSE(reads(nested(100'000)));
  std::string many = "[0";
  for (int i = 0; i != 10'000; ++i) many += ",0";
  EXPECT_FALSE(reads(many + "]"));
}

}  // namespace
}  // namespace heddle

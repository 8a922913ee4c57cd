// SPDX-License-Identifier: MIT
// Paths against cases/paths.txt; queries, forms, and the encodings for links and pages.
#include "heddle/http/uri.hh"

#include <vector>

#include "case_file.hh"
#include "support/test.hh"

namespace {

using namespace heddle::http;
using heddle::test::unescape;

std::string_view name(path_problem what) {
  switch (what) {
    case path_problem::not_absolute:
      return "not_absolute";
    case path_problem::escape_broken:
      return "escape_broken";
    case path_problem::control_byte:
      return "control_byte";
    case path_problem::slash_encoded:
      return "slash_encoded";
    case path_problem::backslash:
      return "backslash";
    case path_problem::above_root:
      return "above_root";
    case path_problem::too_long:
      return "too_long";
  }
  return "";
}

HEDDLE_TEST(uri, "decodes every path of its table, or says why not") {
  for (const auto& entry : heddle::test::read_cases("paths.txt")) {
    SCOPED_TRACE(entry.place + " " + entry.name);
    path_rules rules;
    std::string raw;
    for (const auto& line : entry.lines) {
      if (line.word == "rules" && line.rest == "keep_slash") rules.slashes = encoded_slash::keep;
      if (line.word == "rules" && line.rest == "keep_empty") rules.merge_slashes = false;
      if (line.word == "rules" && line.rest == "backslash") rules.encoded_backslash = true;
      if (line.word == "raw") raw = unescape(line.rest);
      std::vector<char> room(raw.size());
      auto path = decode_path(raw, room, rules);
      if (line.word == "is") {
        ASSERT_TRUE(path.has_value()) << name(path.error());
        EXPECT_EQ(*path, unescape(line.rest));
      } else if (line.word == "fails") {
        ASSERT_FALSE(path.has_value()) << *path;
        EXPECT_EQ(name(path.error()), line.rest);
        EXPECT_FALSE(describe(path.error()).empty());
      }
    }
  }
}

HEDDLE_TEST(uri, "does not copy a path that has nothing to decode") {
  std::string_view raw = "/static/app.js";
  auto path = decode_path(raw, {});
  ASSERT_TRUE(path.has_value());
  EXPECT_EQ(path->data(), raw.data());
  EXPECT_EQ(decode_path("/a%20b", {}).error(), path_problem::too_long);
  char small[3];
  EXPECT_EQ(decode_path("/a%20b", small).error(), path_problem::too_long);
  EXPECT_EQ(decode_path("/a%20/", small).error(), path_problem::too_long);
}

HEDDLE_TEST(uri, "takes queries apart without decoding them") {
  target_parts parts = split_target("/a?b=c&d&&=e&f=g=h&");
  EXPECT_EQ(parts.path, "/a");
  std::string_view rest = parts.query;
  query_pair pair;
  ASSERT_TRUE(take_query_pair(rest, pair));
  EXPECT_EQ(pair.name, "b");
  EXPECT_EQ(pair.value, "c");
  ASSERT_TRUE(take_query_pair(rest, pair));
  EXPECT_EQ(pair.name, "d");
  EXPECT_FALSE(pair.has_value);
  ASSERT_TRUE(take_query_pair(rest, pair));
  EXPECT_EQ(pair.name, "");
  EXPECT_EQ(pair.value, "e");
  ASSERT_TRUE(take_query_pair(rest, pair));
  EXPECT_EQ(pair.value, "g=h");
  EXPECT_FALSE(take_query_pair(rest, pair));
  EXPECT_EQ(split_target("/a").query, "");
}

HEDDLE_TEST(uri, "decodes form text, in which a plus is a space") {
  char room[16];
  EXPECT_EQ(decode_form("a+b%2Bc", room).value(), "a b+c");
  EXPECT_EQ(decode_form("%00", room).value(), std::string_view("\0", 1));
  std::string_view plain = "plain";
  EXPECT_EQ(decode_form(plain, room)->data(), plain.data());
  EXPECT_EQ(decode_form("%4", room).error(), path_problem::escape_broken);
  EXPECT_EQ(decode_form("+", {}).error(), path_problem::too_long);
}

HEDDLE_TEST(uri, "encodes any name so that a link leads back to it") {
  for (int byte = 0x20; byte < 256; ++byte) {
    if (byte == 0x7f || byte == '\\' || byte == '/') continue;
    std::string path = "/a" + std::string(1, static_cast<char>(byte)) + "b";
    std::string link;
    append_encoded_path(link, path);
    for (char c : link) EXPECT_TRUE(c > 0x20 && c < 0x7f && c != '"' && c != '?' && c != '#');
    std::vector<char> room(link.size());
    EXPECT_EQ(decode_path(link, room).value(), path) << link;
  }
  std::string out;
  append_encoded(out, "a/b&c=d+e");
  EXPECT_EQ(out, "a%2Fb%26c%3Dd%2Be");
}

HEDDLE_TEST(uri, "a Location begins with one slash and has only characters of a reference") {
  const std::pair<const char*, const char*> all[] = {
      {"/a/b?c=d&e#f", "/a/b?c=d&e#f"},
      {"//host/a", "/host/a"},
      {"/\\host/a", "/host/a"},
      {"\\/\\//host", "/host"},
      {"", "/"},
      {"///", "/"},
      {"a", "/a"},
      {"/%2f%5Chost", "/%2f%5Chost"},
      {"/a\\b", "/a%5Cb"},
      {"/a b\"<>^`{|}\x7f", "/a%20b%22%3C%3E%5E%60%7B%7C%7D%7F"},
      {"/\r\nX: y", "/%0D%0AX:%20y"},
      {"/\xc3\xa9", "/%C3%A9"}};
  for (const auto& [from, to] : all) EXPECT_EQ(own_location(from), to) << from;
  EXPECT_EQ(own_location("//a b", "https://host:81"), "https://host:81//a%20b");
  EXPECT_EQ(own_location("\\a", "https://host"), "https://host/%5Ca");
  EXPECT_EQ(own_location("", "https://host"), "https://host/");
}

HEDDLE_TEST(uri, "makes text safe for a page") {
  std::string out;
  append_html(out, "<a href=\"x\">&'</a>");
  EXPECT_EQ(out, "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;");
}

}  // namespace

// SPDX-License-Identifier: MIT
// The tokenizer: every byte stays, and what looks like a token in a literal is none.
#include "tame/token.hh"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/test.hh"
#include "support/tree.hh"

namespace heddle::tame {
namespace {

/// The tokens' texts, and whether they cover the file.
std::string concatenated(const token_list& list) {
  std::string out;
  for (const token& t : list.all) {
    if (t.kind == token_kind::directive) {
      std::string line;
      for (std::uint32_t i = 0; i < t.count; ++i) line += list.text_of(list.inside[t.first + i]);
      EXPECT_EQ(line, list.text_of(t));
    }
    out += list.text_of(t);
  }
  return out;
}

std::vector<std::string> significant(std::string_view text) {
  const token_list list = tokenize(text);
  EXPECT_EQ(concatenated(list), text);
  std::vector<std::string> out;
  for (const token& t : list.all)
    if (t.significant()) out.push_back(list.spelling(t));
  return out;
}
using words = std::vector<std::string>;

HEDDLE_TEST(token, "punctuators are taken by the longest match") {
  EXPECT_EQ(significant("a>>=b->*c...<=>d"),
            (words{"a", ">>=", "b", "->*", "c", "...", "<=>", "d"}));
  EXPECT_EQ(significant("x<::y"), (words{"x", "<", "::", "y"}));
  EXPECT_EQ(significant("x<:0:>"), (words{"x", "<:", "0", ":>"}));
}

HEDDLE_TEST(token, "digraphs count as the brackets that they stand for") {
  const token_list list = tokenize("<% a<:0:> %>");
  EXPECT_TRUE(list.all.front().is("{"));
  EXPECT_TRUE(list.all.back().is("}"));
}

HEDDLE_TEST(token, "character and string literals of every kind are one token") {
  EXPECT_EQ(significant("'{' '\"' u8'}' L\"a\\\"b\" \"//\" '\\''"),
            (words{"'{'", "'\"'", "u8'}'", "L\"a\\\"b\"", "\"//\"", "'\\''"}));
  EXPECT_EQ(significant("R\"x(twait { )\" )x\" u8R\"(a\nb)\"s"),
            (words{"R\"x(twait { )\" )x\"", "u8R\"(a\nb)\"s"}));
}

HEDDLE_TEST(token, "digit separators belong to the number") {
  EXPECT_EQ(significant("1'000'000 0x1p-3 1e+5f .5 1..2"),
            (words{"1'000'000", "0x1p-3", "1e+5f", ".5", "1..2"}));
}

HEDDLE_TEST(token, "a line splice joins a word") {
  const token_list list = tokenize("twa\\\nit { }");
  EXPECT_TRUE(list.all.front().is(word::twait_));
  EXPECT_EQ(list.spelling(list.all.front()), "twait");
  EXPECT_EQ(significant("a // b \\\n c\nd"), (words{"a", "d"}));
}

HEDDLE_TEST(token, "a preprocessor line is one token with tokens of its own") {
  const token_list list = tokenize("#define F(x) \\\n  x + 1\nint y;");
  ASSERT_EQ(list.all.front().kind, token_kind::directive);
  EXPECT_EQ(list.text_of(list.all.front()), "#define F(x) \\\n  x + 1");
  EXPECT_EQ(significant("a # b"), (words{"a", "#", "b"}));
}

HEDDLE_TEST(token, "what does not end stops at its line or at the end of the file") {
  EXPECT_EQ(significant("don't\nb"), (words{"don", "'t", "b"}));
  EXPECT_EQ(significant("\"a\nb"), (words{"\"a", "b"}));
  EXPECT_TRUE(tokenize("/* a").all.back().open);
  EXPECT_EQ(significant("R\"(a"), (words{"R\"(a"}));
}

HEDDLE_TEST(token, "byte order marks, line ends and foreign bytes pass") {
  EXPECT_EQ(significant("\xef\xbb\xbfint a;\r\n\x80\xff@`\r\n"),
            (words{"int", "a", ";", "\x80\xff", "@", "`"}));
  EXPECT_EQ(significant(std::string_view("a\0b", 3)).size(), 3U);
}

HEDDLE_TEST(token, "the tokens of all headers of this tree are the headers") {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(heddle::test::source_dir() + "/include")) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    const std::string text = std::move(all).str();
    EXPECT_EQ(concatenated(tokenize(text)), text) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 50U);
}

}  // namespace
}  // namespace heddle::tame

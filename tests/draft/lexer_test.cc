// SPDX-License-Identifier: MIT
// Tokens: newlines, numbers with units, texts, what is none.
#include "draft/lexer.hh"

#include "support/test.hh"

using namespace heddle;
using namespace heddle::draft;

namespace {

std::string tokens_of(const std::string& text) {
  const source::source_file f("t", text);
  source::diagnostics report;
  std::string out;
  for (const token& t : lex(f, report).tokens) {
    if (t.kind == token_kind::end) break;
    out += (out.empty() ? "" : " ") +
           (t.kind == token_kind::newline ? "/"
                                          : std::string(f.text().substr(t.begin, t.end - t.begin)));
  }
  return out;
}

std::uint64_t value_of(const std::string& text) {
  const source::source_file f("t", text);
  source::diagnostics report;
  return lex(f, report).tokens.at(0).value;
}

std::size_t errors_of(const std::string& text) {
  const source::source_file f("t", text);
  source::diagnostics report;
  static_cast<void>(lex(f, report));
  return report.errors();
}

}  // namespace

HEDDLE_TEST(draft_lexer, "a newline ends a statement, except inside ( and [") {
  EXPECT_EQ(tokens_of("a\n\nb"), "a / b /");
  EXPECT_EQ(tokens_of("f(a,\n b)\nc"), "f ( a , b ) / c /");
  EXPECT_EQ(tokens_of("f(x or {\n a\n})"), "f ( x or { / a / } ) /");
}

HEDDLE_TEST(draft_lexer, "a brace closes a bracket that was left open") {
  EXPECT_EQ(tokens_of("{ f(a\n}\nb"), "{ f ( a } / b /");
}

HEDDLE_TEST(draft_lexer, "numbers have units") {
  EXPECT_EQ(value_of("16K"), 16384u);
  EXPECT_EQ(value_of("0xff"), 255u);
  EXPECT_EQ(value_of("1_000"), 1000u);
  EXPECT_EQ(value_of("50ms"), 50000000u);
  EXPECT_EQ(value_of("10m"), 600000000000u);
  EXPECT_EQ(value_of("18446744073709551615"), UINT64_MAX);
}

HEDDLE_TEST(draft_lexer, "what is no token is reported once") {
  for (const char* bad :
       {"18446744073709551616", "5x", "0x", "\"abc", "'ab'", "''", "\"\\q\"", "@", "\xff\xfe\xff"})
    EXPECT_EQ(errors_of(bad), 1u) << bad;
}

HEDDLE_TEST(draft_lexer, "the longest symbol wins") {
  EXPECT_EQ(tokens_of("a+%b a+=b a=>b a..b a->b"), "a +% b a += b a => b a .. b a -> b /");
}

HEDDLE_TEST(draft_lexer, "escapes become bytes") {
  EXPECT_EQ(decode_text("\"a\\n\\x41\\\\\\\"\""), "a\nA\\\"");
}

HEDDLE_TEST(draft_lexer, "comments are no tokens and are kept") {
  const source::source_file f("t", "a // x\n// y\nb");
  source::diagnostics report;
  EXPECT_EQ(lex(f, report).comments.size(), 2u);
  EXPECT_EQ(tokens_of("a // x\n// y\nb"), "a / b /");
}

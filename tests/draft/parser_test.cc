// SPDX-License-Identifier: MIT
// The parser: shapes, recovery, limits.
#include "draft/parser.hh"

#include "compile_text.hh"
#include "support/test.hh"

using namespace heddle;
using namespace heddle::draft;
using heddle::test::codes_of;
using heddle::test::compile_text;

HEDDLE_TEST(draft_parser, "operators bind as the grammar says") {
  const std::string tree = compile_text("const x = 1 + 2 * 3 == 7 && !false", stage::ast).text;
  EXPECT_EQ(tree,
            "module \n"
            "  const x\n"
            "    binary &&\n"
            "      binary ==\n"
            "        binary +\n"
            "          integer 1\n"
            "          binary *\n"
            "            integer 2\n"
            "            integer 3\n"
            "        integer 7\n"
            "      unary !\n"
            "        bool false\n");
}

HEDDLE_TEST(draft_parser, "each bad statement is reported once, and the others are still parsed") {
  EXPECT_EQ(codes_of("fn f() {\n  let = 1\n  let a b\n  return\n}\nfn g( {\n}\nfn h() { x }\n"),
            "D0002 D0002 D0002");
}

HEDDLE_TEST(draft_parser, "a file that ends inside a block says where the block begins") {
  const auto out = compile_text("fn f() {\n  if true {\n");
  ASSERT_EQ(out.report.errors(), 1u);
  EXPECT_EQ(out.report.all()[0].notes.size(), 1u);
}

HEDDLE_TEST(draft_parser, "comparisons do not chain") {
  EXPECT_EQ(codes_of("fn f(a: int) -> bool { return 1 < a < 3 }"), "D0002");
}

HEDDLE_TEST(draft_parser, "what nests too deeply is an error and no crash") {
  std::string deep = "const x = ";
  for (int i = 0; i != 5000; ++i) deep += "(";
  EXPECT_EQ(codes_of(deep), "D0007");
  std::string wide = "const x = 1";
  for (int i = 0; i != 5000; ++i) wide += " + 1";
  EXPECT_EQ(codes_of(wide), "D0007");
  std::string blocks = "fn f() {";
  for (int i = 0; i != 5000; ++i) blocks += "if true {";
  EXPECT_NE(codes_of(blocks).find("D0007"), std::string::npos);
}

HEDDLE_TEST(draft_parser, "nested generics may end in >>") {
  EXPECT_EQ(codes_of("fn f(c: channel<channel<int>>) -> int { let _ = c\n return 1 }"), "");
}

HEDDLE_TEST(draft_parser, "a semicolon is a habit that is named") {
  const auto out = compile_text("fn f() {\n  let a = 1;\n  let _ = a\n}\n");
  ASSERT_EQ(out.report.errors(), 1u);
  EXPECT_EQ(out.report.all()[0].hint, "delete the semicolon");
}

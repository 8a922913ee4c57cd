// SPDX-License-Identifier: MIT
// The form for people.
#include "support/test.hh"
#include "tame/translate.hh"

namespace heddle::tame {
namespace {

translation ported(std::string text, bool rename_api = false) {
  const source::source_file file("a.cc", std::move(text));
  source::diagnostics found;
  translation t = port(file, {.rename_api = rename_api}, found);
  EXPECT_EQ(source::print(found), "");
  return t;
}
const std::string head = "#include \"heddle/core/twait.hh\"\n";
const std::string plain_head = "#include \"heddle/core/tamed.hh\"\n";

HEDDLE_TEST(tame_port, "gives functions their own type") {
  EXPECT_EQ(ported("static tamed void f(int);\n").text,
            plain_head + "static heddle::tamed f(int);\n");
  EXPECT_EQ(ported("tamed static void f(int);\n").text,
            plain_head + "static heddle::tamed f(int);\n");
  EXPECT_EQ(ported("tamed f(int);\n").text, plain_head + "heddle::tamed f(int);\n");
  EXPECT_EQ(ported("tamed template <class T>\nvoid f(T);\n").text,
            plain_head + "template <class T>\nheddle::tamed f(T);\n");
}
HEDDLE_TEST(tame_port, "gives functions with a trailing type their own type") {
  EXPECT_EQ(ported("auto tamed f(int) -> void;\n").text,
            plain_head + "auto f(int) -> heddle::tamed;\n");
}
HEDDLE_TEST(tame_port, "keeps a function without a wait a tamed one") {
  EXPECT_EQ(ported("tamed void f() {\n  g();\n}\n").text,
            plain_head + "heddle::tamed f() {\n  g();\n  co_return;\n}\n");
  EXPECT_EQ(ported("tamed void f() { g(); }\n").text,
            plain_head + "heddle::tamed f() { g(); co_return; }\n");
}
HEDDLE_TEST(tame_port, "writes waits as Heddle does") {
  EXPECT_EQ(
      ported("tamed void f() {\n  twait { g(make_event(x)); }\n  twait(r, i);\n  twait(r);\n"
             "  twait(r, i, j);\n  return;\n}\n")
          .text,
      head +
          "heddle::tamed f() {\n  twait { g(mkevent(x)); }\n  i = co_await r;\n  co_await r;\n"
          "  std::tie(i, j) = co_await r;\n  co_return;\n}\n");
}
HEDDLE_TEST(tame_port, "dissolves tvars") {
  EXPECT_EQ(ported("tamed void f() {\n    tvars {\n        int a;\n        T b(g());\n    }\n    "
                   "twait(r);\n}\n")
                .text,
            plain_head + "heddle::tamed f() {\n    int a;\n    T b((g()));\n    co_await r;\n}\n");
  EXPECT_EQ(ported("tamed void f() {\n  tvars { int a; };\n  twait(r);\n}\n").text,
            plain_head + "heddle::tamed f() {\n  int a;\n  co_await r;\n}\n");
}
HEDDLE_TEST(tame_port, "adds its header behind the last include") {
  EXPECT_EQ(ported("#include <a>\n#include <b>\ntamed void f();\n").text,
            "#include <a>\n#include <b>\n" + plain_head + "heddle::tamed f();\n");
}
HEDDLE_TEST(tame_port, "lists what is left to people, with lines") {
  const translation t = ported(
      "tamed void f() {\n  twait volatile { g(make_event()); }\n"
      "  while (a) twait { if (b) break; }\n}\n");
  ASSERT_EQ(t.left.size(), 2U);
  EXPECT_EQ(t.left[0].line, 2U);
  EXPECT_EQ(t.left[1].line, 3U);
}
HEDDLE_TEST(tame_port, "renames on request what Heddle has alike, and counts the rest") {
  const translation t =
      ported("#include <x>\nvoid g(tamer::event<int> e, tamer::fd f, tamer::fd h);\n", true);
  EXPECT_EQ(t.text, "#include <x>\nvoid g(heddle::event<int> e, tamer::fd f, tamer::fd h);\n");
  ASSERT_EQ(t.left.size(), 1U);
  EXPECT_EQ(t.left[0].what, "tamer::fd, 2 uses");
}
HEDDLE_TEST(tame_port, "of a ported file changes nothing") {
  const std::string once =
      ported("#include <a>\ntamed void f() { twait { g(make_event()); } }\n").text;
  EXPECT_EQ(once.find("tamed void"), std::string::npos);
  EXPECT_EQ(ported(once).text, once);
}
HEDDLE_TEST(tame_port, "keeps code that stood before a comment") {
  const std::string text = ported("tamed void f() {\n  twait(r, i // its id\n  );\n}\n").text;
  EXPECT_NE(text.find("i = co_await r;"), std::string::npos) << text;
}
HEDDLE_TEST(tame_port, "shows its changes as a unified diff") {
  EXPECT_EQ(
      ported("#include <a>\n1\n2\n3\n4\ntamed void f();\n5\n").diff,
      "--- a.cc\n+++ a.cc\n@@ -1,7 +1,8 @@\n #include <a>\n+#include "
      "\"heddle/core/tamed.hh\"\n 1\n 2\n 3\n 4\n-tamed void f();\n+heddle::tamed f();\n 5\n");
}

}  // namespace
}  // namespace heddle::tame

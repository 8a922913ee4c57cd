// SPDX-License-Identifier: MIT
// The parser: shapes, recovery, limits.
#include "draft/parser.hh"

#include <sys/resource.h>

#include <algorithm>

#include "compile_text.hh"
#include "heddle/base/sanitizer.hh"
#include "support/test.hh"

using namespace heddle;
using namespace heddle::draft;
using heddle::test::codes_of;
using heddle::test::compile_text;

#if HEDDLE_ASAN
namespace {

/// Frames of ASan take so much of the stack that the deepest programs that the compiler accepts
/// need more than the usual 8 MiB.
const bool has_large_stack = [] {
  ::rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0) return false;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, rlim_t{100} << 20);
  return ::setrlimit(RLIMIT_STACK, &limit) == 0;
}();

}  // namespace
#endif

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

namespace {

std::string times(int n, const std::string& s) {
  std::string out;
  for (int i = 0; i != n; ++i) out += s;
  return out;
}
/// The statement as a body in which each of its names means something.
std::string codes_in_body(const std::string& statement) {
  return codes_of(
      "use log\nfn id(n: int) -> int { return n }\n"
      "fn idf(n: int) -> int! { if n == 1 { fail error.x }\n return n }\n"
      "fn body(a: int, arr: [2]int) -> ! {\n let _ = try idf(id(arr[0]))\n" +
      statement + "\n}\n");
}
/// Handlers inside of long expressions inside of handlers.
std::string handlers(int levels, int operators) {
  std::string s = "a";
  for (int i = 0; i != levels; ++i)
    s = "(idf(1) or { log.print(" + s + ")\n return })" + times(operators, " +% a");
  return s;
}

}  // namespace

HEDDLE_TEST(draft_parser, "every kind of depth has a limit") {
  const int n = 10000;
  const std::string kinds[] = {
      "log.print(" + times(n, "arr[") + "0" + times(n, "]") + ")",
      "log.print(" + times(n, "\"a\"[0..") + "0" + times(n, "]") + ")",
      "log.print(\"a\"" + times(n, "[0..]") + ")",
      "log.print(" + times(n, "id(") + "0" + times(n, ")") + ")",
      "log.print(id" + times(n, "(1)") + ")",
      "log.print(a" + times(n, ".b") + ")",
      "log.print(" + times(n, "(") + "0" + times(n, ")") + ")",
      "log.print(" + times(n, "[") + "0" + times(n, "]") + ")",
      "log.print(" + times(n, "~") + "a)",
      "log.print(" + times(n, "- ") + "a)",
      "log.print(" + times(n, "!") + "true)",
      "log.print(" + times(n, "try ") + "idf(2))",
      "log.print(" + times(n, "move ") + "a)",
      "log.print(a" + times(n, " +% a") + ")",
      "log.print(idf(1)" + times(n, " or idf(1)") + " or 1)",
      times(n, "idf(1) or { ") + times(n, "}"),
      "log.print(" + handlers(30, 900) + ")",
      "log.print(" + handlers(20, 60) + ")",
      times(n, "if a == 2 { ") + times(n, "}"),
      "if a == 0 { log.print(1) }" + times(n, " else if a == 1 { log.print(2) }"),
      times(n, "match a { 1 => ") + "log.print(1)" + times(n, "}"),
      times(n, "within 1s { ") + times(n, "}"),
      "var t: " + times(n, "?") + "int = none",
      "var t: " + times(n, "[1]") + "int",
      "let t = try " + times(n, "channel<") + "int" + times(n, ">") + "(1)",
  };
  for (const std::string& kind : kinds)
    EXPECT_NE(codes_in_body(kind).find("D0007"), std::string::npos) << kind.substr(0, 60);
}

HEDDLE_TEST(draft_parser, "declarations that need each other have a limit, too") {
  const auto chain = [](int n, auto&& each) {
    std::string out;
    for (int i = 0; i != n; ++i) out += each(std::to_string(i), std::to_string(i + 1));
    return out;
  };
  const int n = 10000;
  EXPECT_EQ(
      codes_of(chain(n, [](const auto& a,
                           const auto& b) { return "const c" + a + " = c" + b + " +% 1\n"; }) +
               "const c10000 = 1\n")
          .substr(0, 5),
      "D0007");
  EXPECT_EQ(codes_of("const c0 = 1\n" + chain(n,
                                              [](const auto& a, const auto& b) {
                                                return "const c" + b + " = c" + a + " +% 1\n";
                                              })),
            "");
  EXPECT_EQ(
      codes_of(chain(n, [](const auto& a,
                           const auto& b) { return "record r" + a + " { x: r" + b + " }\n"; }) +
               "record r10000 { x: int }\n"),
      "D0007");
  // Twice as large at each step: this would be 2 GiB.
  EXPECT_EQ(codes_of(chain(28,
                           [](const auto& a, const auto& b) {
                             return "record r" + a + " { x: r" + b + ", y: r" + b + " }\n";
                           }) +
                     "record r28 { x: int }\n")
                .substr(0, 5),
            "D0004");
  EXPECT_EQ(codes_of("fn f(t: [65536][65536]int) { let _ = t[0][0] }\n"), "D0004");
  // A function has its own frame where merged ones would be too deep.
  const std::string calls =
      "use time\n" +
      chain(n, [](const auto& a,
                  const auto& b) { return "fn f" + a + "() -> ! { try f" + b + "() }\n"; }) +
      "fn f10000() -> ! { try time.pause() }\n";
  EXPECT_TRUE(compile_text(calls, stage::c).good());
}

HEDDLE_TEST(draft_parser, "an array holds no record with a handle, wherever that is declared") {
  EXPECT_EQ(codes_of("record a { x: [2]b }\nrecord b { c: channel<int> }\n"), "D0004");
  EXPECT_EQ(codes_of("record b { c: channel<int> }\nrecord a { x: [2]b }\n"), "D0004");
}

HEDDLE_TEST(draft_parser, "modules use each other to a limited depth") {
  compile_options options;
  options.front.read = [](const std::string& path) -> std::expected<std::string, std::string> {
    const std::size_t m = path.rfind('m');
    const int n = path == "t.draft" ? -1 : std::stoi(path.substr(m + 1));
    return (n < 0 ? std::string() : "module m" + std::to_string(n) + "\n") + "use m" +
           std::to_string(n + 1) + "\n";
  };
  const compiled made = compile("t.draft", stage::check, options);
  ASSERT_FALSE(made.good());
  EXPECT_EQ(made.report.all()[0].code, "D0007");
}

HEDDLE_TEST(draft_parser, "nested generics may end in >>") {
  EXPECT_EQ(codes_of("fn f(c: channel<channel<int>>) -> int { let _ = c\n return 1 }"), "");
}

HEDDLE_TEST(draft_parser, "a semicolon is a habit that is named") {
  const auto out = compile_text("fn f() {\n  let a = 1;\n  let _ = a\n}\n");
  ASSERT_EQ(out.report.errors(), 1u);
  EXPECT_EQ(out.report.all()[0].hint, "delete the semicolon");
}

// SPDX-License-Identifier: MIT
// The formatter: one style, stable, and the tokens stay.
#include "draft/format.hh"

#include <filesystem>

#include "compile_text.hh"
#include "support/test.hh"
#include "support/tree.hh"

using namespace heddle;
using namespace heddle::draft;

namespace {
std::string formatted(const std::string& text) {
  const source::source_file f("t", text);
  return format(f);
}
}  // namespace

HEDDLE_TEST(draft_format, "spaces, indentation and blank lines have one style") {
  EXPECT_EQ(
      formatted("fn  f( a:int,b :?int )->int !{\n\n\nlet x=a+ -1\n\n\n\nif !b{ return x }// no\n}"),
      "fn f(a: int, b: ?int) -> int! {\n    let x = a + -1\n\n    if !b { return x }  // no\n}\n");
  EXPECT_EQ(
      formatted("let c = channel< int >( 4 )\nlet a=[1,2]\nlet v=b[0 .. 2].len\nfn g() -> ! {}\n"),
      "let c = channel<int>(4)\nlet a = [1, 2]\nlet v = b[0..2].len\nfn g() -> ! {}\n");
}

HEDDLE_TEST(draft_format, "an action indents once, and its brackets end together") {
  EXPECT_EQ(formatted("fn f( a :fn ( )->int ! ,b: fn()->!){\n  let n = try g(1,fn ( ) {\n try "
                      "x()\n}, fn(){ y() })\n}\n"),
            "fn f(a: fn() -> int!, b: fn() -> !) {\n    let n = try g(1, fn() {\n        try x()\n"
            "    }, fn() { y() })\n}\n");
}

HEDDLE_TEST(draft_format, "two tokens never become one, however little sense they make") {
  EXPECT_EQ(formatted("main() f(- = x)\n"), "main() f(- = x)\n");
  EXPECT_EQ(formatted("channel<channel<int> >(1)\n"), "channel<channel<int> >(1)\n");
}

HEDDLE_TEST(draft_format, "a text that cannot be read comes back as it was") {
  EXPECT_EQ(formatted("let  x = \"abc\n"), "let  x = \"abc\n");
}

HEDDLE_TEST(draft_format, "the examples are laid out") {
  for (const auto& entry :
       std::filesystem::directory_iterator(test::source_dir() + "/examples/draft")) {
    if (entry.path().extension() != ".draft") continue;
    const std::string text = source::read_text(entry.path()).value_or("");
    EXPECT_EQ(formatted(text), text) << entry.path();
  }
}

// SPDX-License-Identifier: MIT
// Mistakes in .x files, with their places, and the C++ of files without mistakes. That the C++
// compiles and works is tested with room rpc (tests/rpc/store.x).
#include "rpcgen/syntax.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

/// The first diagnostic as `line:column: message`, or the C++.
std::string compiled(std::string text) {
  const source::source_file file("a.x", std::move(text));
  source::diagnostics found;
  const rpcgen::specification parsed = rpcgen::parse(file, found);
  if (!found.has_errors()) return rpcgen::to_cpp(parsed, "a.x");
  const source::diagnostic& d = found.all().front();
  const source::position at = file.position_of(d.at.begin);
  return std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + d.message;
}

HEDDLE_TEST(rpcgen, "a mistake is named with its line and column") {
  const std::pair<const char*, const char*> mistakes[] = {
      {"struct a {\n  int b\n};", "3:1: `;` is missing before `}`"},
      {"struct a { b c; };", "1:12: there is no type `b`"},
      {"struct a { a b; };", "1:12: `a` contains itself"},
      {"struct a { b c; };\nstruct b { int d; };", "1:12: `b` is defined after this place"},
      {"const A = 1;\nconst A = 2;", "2:7: `A` is defined twice"},
      {"struct a { int b; int b; };", "1:23: `b` is a field already"},
      {"struct a { int b[N]; };", "1:18: there is no constant `N` before this place"},
      {"struct a { int b[0]; };", "1:18: a length must be from 1 to 4294967295, and this is 0"},
      {"struct a { string b; };", "1:19: a string or opaque needs a length"},
      {"struct a { string b[3]; };", "1:19: a string has no fixed length"},
      {"struct a { void; };", "1:12: a struct has no void fields"},
      {"union a switch (float b) { case 1: void; };",
       "1:23: a union's discriminant is an int, an unsigned int, a bool or an enum"},
      {"enum e { A };\nunion a switch (e b) { case 1: void; };",
       "2:7: `a` has a case 1, which is no value of its discriminant"},
      {"union a switch (int b) { case 1: void; case 1: int c; };",
       "1:45: the value 1 has an arm already"},
      {"union a switch (int b) { };", "1:26: a union needs a case"},
      {"program P { version V { void F(void) = 1; int G(int) = 1; } = 1; } = 1;",
       "1:47: `F` has this name or number already"},
      {"#define A 1\n", "1:1: there is no preprocessor"},
      {"const A = 08;", "1:11: `08` is no number of at most 63 bits"},
      {"/* no end", "1:1: this comment has no end"},
      {"int a;", "1:1: a definition cannot begin with `int`"},
      {"namespace n { const A = 1;", "1:27: `}` is missing before the end of the file"},
      {"enum e { A = 2147483648 };", "1:10: `A` does not fit in 32 bits"},
      {"typedef struct { int a; } b<>;", "1:9: give this type a name of its own first"},
      {"struct a { opaque b<>; int *c[3]; };", "1:30: an optional type has no length"},
  };
  for (const auto& [text, error] : mistakes) EXPECT_EQ(compiled(text), error) << text;
}

HEDDLE_TEST(rpcgen, "a type nested too deeply is refused") {
  std::string text = "struct a { ";
  for (int i = 0; i != 100; ++i) text += "struct { ";
  EXPECT_NE(compiled(text).find("types are nested too deeply"), std::string::npos);
}

HEDDLE_TEST(rpcgen, "a hint names the nearest type") {
  const source::source_file file("a.x", "struct entry { int a; };\nstruct b { entri c; };");
  source::diagnostics found;
  static_cast<void>(rpcgen::parse(file, found));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found.all().front().hint, "did you mean `entry`?");
}

HEDDLE_TEST(rpcgen, "types and bounds become the C++ types that the pages promise") {
  const std::string cpp = compiled(
      "%#include \"more.hh\"\n# 1 \"a.h\"\nconst N = 0x10;\nstruct a { opaque small<N>; opaque "
      "large<2000>; string s<>; int class; a *next; };\ntypedef a *as; typedef enum { ON = 1 } "
      "sw;");
  for (const char* line :
       {"#include \"more.hh\"\n", "inline constexpr std::uint32_t N = 16;\n",
        "  heddle::xdr::bytes<16> small{};\n", "  heddle::xdr::opaque<2000> large{};\n",
        "  heddle::xdr::text<> s{};\n", "  std::int32_t class_{};\n",
        "  heddle::xdr::link<a> next{};\n", "a(\"class\", v.class_)",
        "using as = heddle::xdr::link<a>;\n", "enum class sw : std::int32_t {\n  ON = 1,\n};\n"})
    EXPECT_NE(cpp.find(line), std::string::npos) << line << "\nis not in\n" << cpp;
}

HEDDLE_TEST(rpcgen, "a namespace is left by its brace, and by nothing else") {
  const std::string cpp = compiled("namespace a::b { const X = 1; }\nconst Y = X;\n");
  EXPECT_EQ(cpp, "2:11: there is no constant `X` before this place");
  EXPECT_NE(compiled("namespace a { const X = 1; struct s { int v[X]; }; }")
                .find("std::array<std::int32_t, 1>"),
            std::string::npos);
}

HEDDLE_TEST(rpcgen, "a field with the name of its own struct gets an underscore") {
  const std::string cpp = compiled(
      "struct at { int at; };\nunion link switch (bool link) { case TRUE: at other; case FALSE: "
      "void; };\nunion read switch (int code) { case 0: at read; };");
  for (const char* line :
       {"  std::int32_t at_{};\n", "a(\"at\", v.at_)", "  bool link_ = true;\n", "  at& read_() {"})
    EXPECT_NE(cpp.find(line), std::string::npos) << line << "\nis not in\n" << cpp;
}

HEDDLE_TEST(rpcgen,
            "files for older compilers are taken: types of C, programs before their types") {
  const std::string cpp = compiled(
      "program P { version V { struct later F(u_int) = 1; } = 1; } = 1;\n"
      "typedef struct later later;\nstruct later { char c; unsigned short s; uint64_t n; later "
      "*more; };");
  for (const char* line : {"  std::int32_t c{};\n", "  std::uint32_t s{};\n",
                           "  std::uint64_t n{};\n", "    using result = ::later;\n"})
    EXPECT_NE(cpp.find(line), std::string::npos) << line << "\nis not in\n" << cpp;
  EXPECT_LT(cpp.find("struct later {"), cpp.find("struct V {"));
}

}  // namespace
}  // namespace heddle::test

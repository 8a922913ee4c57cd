// SPDX-License-Identifier: MIT
// What the translator refuses: a number, the place, the second place, and a rewrite.
#include "support/test.hh"
#include "support/tree.hh"
#include "tame/explain.hh"
#include "tame/translate.hh"

namespace heddle::tame {
namespace {

struct refusal {
  std::string code;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::size_t notes = 0;
  std::string hint;
};

/// The first diagnostic; nothing is written.
refusal refused(std::string text, dialect language = dialect::tamer) {
  const source::source_file file("a.tcc", std::move(text));
  source::diagnostics found;
  const translation t = translate(file, {.language = language}, found);
  if (!found.has_errors()) return {};
  EXPECT_EQ(t.text, "");
  const source::diagnostic& d = found.all().front();
  const source::position at = file.position_of(d.at.begin);
  return {d.code, at.line, at.column, d.notes.size(), d.hint};
}
std::string code_of(const std::string& text) { return refused(text).code; }

HEDDLE_TEST(tame_refusal, "names the place, the second place and a way out") {
  const refusal r =
      refused("tamed void f() {\n  try { g(); }\n  catch (int) {\n    twait(r);\n  }\n}");
  EXPECT_EQ(r.code, "T0203");
  EXPECT_EQ(r.line, 4U);
  EXPECT_EQ(r.column, 5U);
  EXPECT_EQ(r.notes, 1U);
  EXPECT_NE(r.hint.find("exception_ptr"), std::string::npos);
}
/// The codes of all diagnostics.
std::string codes_of(std::string text, dialect language = dialect::tamer) {
  const source::source_file file("a.tcc", std::move(text));
  source::diagnostics found;
  static_cast<void>(translate(file, {.language = language}, found));
  std::string codes;
  for (const source::diagnostic& d : found.all()) codes += d.code + ' ';
  return codes;
}

HEDDLE_TEST(tame_refusal, "of a constructor, in its class and outside") {
  for (const char* refused : {
           "struct S { tamed S() { twait(r); } };",
           "struct S { tamed S(); };",
           "class S final : public B { public: explicit tamed S(int x) : y(x) { twait(r); } };",
           "template <class T> struct S : B<class X> { tamed S(T x) { twait(r); } };",
           "template <> struct S<int> { tamed S() { } };",
           "struct [[nodiscard]] alignas(16) n::S { int a[2]; tamed S() : a{1, 2} { twait(r); } };",
           "struct A { struct S { int x; }; tamed A(); };",
           "tamed S::S(int) : y(1) { }",
       })
    EXPECT_EQ(codes_of(refused), "T0101 ") << refused;
  for (const char* taken : {
           "struct S { tamed T() { twait(r); } };",
           "struct A { struct S { int x; }; tamed S2(); };",
           "struct S { int x; }; tamed S2() { twait(r); }",
           "struct { tamed S() { twait(r); } } x;",
           "struct S *f(); struct T { tamed S(); };",
       })
    EXPECT_EQ(codes_of(taken), "") << taken;
}
HEDDLE_TEST(tame_refusal, "of a result is said once") {
  EXPECT_EQ(codes_of("tamed int f() { twait(r); return 1; }"), "T0106 ");
  EXPECT_EQ(codes_of("tamed int f();"), "T0106 ");
  EXPECT_EQ(codes_of("tamed int f() { twait(r); return 1; }", dialect::tame), "T0106 ");
}
HEDDLE_TEST(tame_refusal, "of functions that cannot wait") {
  EXPECT_EQ(code_of("tamed void A::A(int) { }"), "T0101");
  EXPECT_EQ(code_of("struct A { tamed A(int x) : y(x) { } };"), "T0101");
  EXPECT_EQ(code_of("tamed void A::~A() { }"), "T0102");
  EXPECT_EQ(code_of("constexpr tamed void f() { twait(r); }"), "T0103");
  EXPECT_EQ(code_of("tamed void f(int a, ...) { twait(r); }"), "T0104");
  EXPECT_EQ(code_of("tamed void f() try { } catch (...) { }"), "T0105");
  EXPECT_EQ(code_of("tamed int f() { }"), "T0106");
  EXPECT_EQ(code_of("tamed void *f() { }"), "T0106");
  EXPECT_EQ(code_of("struct A { tamed void f() = default; };"), "T0107");
  EXPECT_EQ(code_of("tamed int main() { }"), "T0108");
}
HEDDLE_TEST(tame_refusal, "not of the same without a wait") {
  EXPECT_EQ(code_of("constexpr tamed void f() { }"), "");
  EXPECT_EQ(code_of("tamed void f(int a, ...) { }"), "");
  EXPECT_EQ(code_of("template <class... A> tamed void f(A... a) { twait(r); }"), "");
}
HEDDLE_TEST(tame_refusal, "of arrays whose size is a variable, in functions that wait") {
  EXPECT_EQ(code_of("tamed void f(int n) { char a[n]; twait(r); }"), "T0208");
  EXPECT_EQ(code_of("tamed void f() { tvars { int n; } { twait(r); int a[n]; } }"), "T0208");
  EXPECT_EQ(code_of("tamed void f(int n) { char a[n]; }"), "") << "no coroutine";
  EXPECT_EQ(code_of("tamed void f(const int n) { twait(r); a[n] = 1; const int m = 2; T b[m]; }"),
            "");
  EXPECT_EQ(code_of("tamed void f(int n) { twait(r); auto g = [](int n) { int a[n]; }; v[n]; }"),
            "");
}
HEDDLE_TEST(tame_refusal, "of functions that return before they end, but for plain ones") {
  const auto code = [](const std::string& text) { return refused(text, dialect::tame).code; };
  EXPECT_EQ(code("tamed int f() { twait(r); return 1; }"), "T0106");
  EXPECT_EQ(code("tamed int f() { DEFAULT_RETURN { return 0; } twait(r); return 1; }"), "");
  EXPECT_EQ(code("tamed int f(int, CLOSURE);"), "");
  EXPECT_EQ(code("tamed int A::f() { DEFAULT_RETURN { return 0; } twait(r); }"), "T0112");
  EXPECT_EQ(code("struct A { tamed int f() { DEFAULT_RETURN { return 0; } twait(r); } };"),
            "T0112");
  EXPECT_EQ(code("template <class T> tamed int f(T) { DEFAULT_RETURN { return 0; } twait(r); }"),
            "T0112");
  EXPECT_EQ(code("tamed int f(int (*g)(int)) { DEFAULT_RETURN { return 0; } twait(r); }"), "T0112");
  EXPECT_EQ(code("tamed int f() { { DEFAULT_RETURN { return 0; } } twait(r); }"), "T0112");
}
HEDDLE_TEST(tame_refusal, "of the inside of tamer") {
  EXPECT_EQ(code_of("tamerpriv::simple_event* e;"), "T0303");
  EXPECT_EQ(code_of("int tamerpriv; a.tamerpriv::b();"), "");
}
HEDDLE_TEST(tame_refusal, "of waits where none can be") {
  EXPECT_EQ(code_of("void f() { twait { } }"), "T0201");
  EXPECT_EQ(code_of("twait { }"), "T0201");
  EXPECT_EQ(code_of("tamed void f() { g([] { twait(r); }); }"), "T0202");
  EXPECT_EQ(code_of("tamed void f() { int x = ({ twait(r); 1; }); }"), "T0204");
  EXPECT_EQ(code_of("tamed void f() { switch (a) { twait { case 1: g(); } } }"), "T0205");
  EXPECT_EQ(code_of("tamed void f() { twait(); }"), "T0207");
}
HEDDLE_TEST(tame_refusal, "not of a whole switch in a twait body") {
  EXPECT_EQ(code_of("tamed void f() { twait { switch (a) { case 1: g(); default: h(); } } }"), "");
  EXPECT_EQ(
      code_of("tamed void f() { switch (a) { case 1: twait { g(); } break; default: h(); } }"), "");
}
HEDDLE_TEST(tame_refusal, "of slots that end before the wait") {
  EXPECT_EQ(code_of("tamed void f() { twait { int x; g(make_event(x)); } }"), "T0206");
  EXPECT_EQ(code_of("tamed void f() { tvars { int i; } twait { for (int i = 0; i < 3; ++i) "
                    "{ g(make_event()); } h(make_event(i)); } }"),
            "");
  EXPECT_EQ(code_of("tamed void f() { twait { int x = 0; twait { g(make_event(x)); } use(x); } }"),
            "");
  EXPECT_EQ(code_of("tamed void f() { twait { for (int i = 0; i < 3; ++i) g(make_event(i)); } }"),
            "T0206");
  EXPECT_EQ(code_of("tamed void f() { twait { std::vector<int> v; g(1, make_event(a, v)); } }"),
            "T0206");
}
HEDDLE_TEST(tame_refusal, "not of slots that live on") {
  for (const char* body : {"int& x = y; g(make_event(x));", "static int x; g(make_event(x));",
                           "{ int x; h(x); } g(make_event(x));", "int x; g(make_event(a[x]));",
                           "x = a > b; g(make_event(b));", "for (auto& x : v) g(make_event(x));",
                           "T* p = q; g(make_event(*p));", "int x = 1; g(make_event(r, x + 1));"})
    EXPECT_EQ(code_of("tamed void f() { twait { " + std::string(body) + " } }"), "") << body;
}
HEDDLE_TEST(tame_refusal, "of variables in the wrong place") {
  EXPECT_EQ(code_of("tamed void f() { if (a) { tvars { int x; } } }"), "T0301");
  EXPECT_EQ(code_of("void f() { tvars { int x; } }"), "T0302");
}
HEDDLE_TEST(tame_refusal, "of branches that end differently") {
  const refusal r = refused("tamed void f() {\n#if A\n twait {\n#else\n {\n#endif\n }\n}");
  EXPECT_EQ(r.code, "T0401");
  EXPECT_EQ(r.line, 2U);
  EXPECT_EQ(code_of("tamed void f() {\n#if A\n if (a) {\n#endif\n }\n}"), "T0401");
  EXPECT_EQ(code_of("tamed void f() {\n#if A\n twait(r\n#else\n return;\n}"), "T0403");
  EXPECT_EQ(code_of("#if A\ntamed void f() {}\n#else\n"), "T0403");
}
HEDDLE_TEST(tame_refusal, "of macros that hold half a wait") {
  EXPECT_EQ(code_of("#define BEGIN twait {\n"), "T0402");
}
HEDDLE_TEST(tame_refusal, "of brackets that do not match, and bodies that do not end") {
  EXPECT_EQ(code_of("tamed void f() { g(]; }"), "T0110");
  EXPECT_EQ(code_of("tamed void f() { twait { g();"), "T0111");
  EXPECT_EQ(code_of("/* tamed"), "T0002");
}
HEDDLE_TEST(tame_refusal, "has a page for each number") {
  std::size_t seen = 0;
  for (const char* name : {"parser", "parse_bracket", "parse_function", "parse_default_return",
                           "parse_wait", "parse_lint", "parse_directive"}) {
    const std::string text =
        source::read_text(test::source_dir() + "/src/tame/" + name + ".cc").value();
    for (std::size_t at = text.find("\"T0"); at != std::string::npos;
         at = text.find("\"T0", at + 1)) {
      EXPECT_NE(explain(text.substr(at + 1, 5)), "") << text.substr(at, 7);
      ++seen;
    }
  }
  EXPECT_GE(seen, explanations().size());
}
HEDDLE_TEST(tame_refusal, "of its own output") {
  const source::source_file file("a.tcc", "tamed void f() { twait { } }");
  source::diagnostics found;
  EXPECT_EQ(code_of(translate(file, {}, found).text), "T0001");
}

}  // namespace
}  // namespace heddle::tame

// SPDX-License-Identifier: MIT
// The form for the compiler: one construct a test, with the exact output, and what must not change.
#include "tame/translate.hh"

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "support/test.hh"
#include "support/tree.hh"

namespace heddle::tame {
namespace {

constexpr const char* open_wait =
    "{ ::heddle::tame::gather heddle_gather; { [[maybe_unused]] const ::heddle::tame::maker "
    "make_event(heddle_gather); [[maybe_unused]] const auto& mkevent = make_event;";
constexpr const char* close_wait = "} co_await heddle_gather; }";

std::string built(std::string text, dialect language = dialect::tamer) {
  const source::source_file file("a.tcc", std::move(text));
  source::diagnostics found;
  const translation t = translate(file, {.language = language, .line_directives = false}, found);
  EXPECT_EQ(source::print(found), "");
  return t.text;
}
std::string in_function(const std::string& body, const std::string& text = "\nco_return; }") {
  return "      void f() { " + body + text;
}
/// A twait as the output has it.
std::string wait(const std::string& body) { return open_wait + body + close_wait; }
std::string with_wait(const std::string& statement) {
  return built("tamed void f() { " + statement + "\ntwait(r); }");
}
std::string with_wait_built(const std::string& statement) {
  return "      void f() { " + statement + "\nco_await ::heddle::tame::next(r); co_return; }";
}

// Functions.

HEDDLE_TEST(tame_function,
            "loses the word, and a coroutine ends in co_return on its closing line") {
  EXPECT_EQ(built("tamed void f() {\n  twait(r);\n}"),
            "      void f() {\n  co_await ::heddle::tame::next(r);\nco_return; }");
}
HEDDLE_TEST(tame_function, "without a wait stays an ordinary function") {
  EXPECT_EQ(built("tamed void f() { return; }"), "      void f() { return; }");
}
HEDDLE_TEST(tame_function, "is found behind and before other words") {
  EXPECT_EQ(built("static tamed void f(int);"), "static       void f(int);");
  EXPECT_EQ(built("tamed static void f(int);"), "      static void f(int);");
  EXPECT_EQ(built("template <class T> tamed void f(T);"), "template <class T>       void f(T);");
  EXPECT_EQ(built("tamed template <class T> void f(T);"), "      template <class T> void f(T);");
  EXPECT_EQ(built("struct a { virtual tamed void f() = 0; tamed void g() override; };"),
            "struct a { virtual       void f() = 0;       void g() override; };");
  EXPECT_EQ(built("[[maybe_unused]] tamed void f();"), "[[maybe_unused]]       void f();");
  EXPECT_EQ(built("friend tamed void f();"), "friend       void f();");
}
HEDDLE_TEST(tame_function, "gets its result type where the paper has none") {
  EXPECT_EQ(built("tamed f(int x);"), "void  f(int x);");
  EXPECT_EQ(built("tamed A<T>::f(int x) { twait(r); }"),
            "void  A<T>::f(int x) { co_await ::heddle::tame::next(r); co_return; }");
  EXPECT_EQ(built("static tamed f();"), "static void  f();");
}
HEDDLE_TEST(tame_function, "keeps heads that nobody has to understand") {
  const char* heads[] = {
      ("tamed void f(int a = g({1, 2}), std::function<void(int)> h = [](int x) { return; }) "
       "noexcept(noexcept(T{})) {"),
      "tamed auto f(int (&a)[3]) const && -> void requires std::integral<T> {",
      "tamed void operator()(int) {",
      "tamed void f(T t) requires requires (T u) { u.g(); } {",
      "tamed void f(T t) requires (sizeof(T) > 4) {",
      "tamed void ns::A<B<C>>::template f<int>(Args&&... args) {",
      "tamed template <int N = (3)> void f() {",
  };
  for (const std::string head : heads) {
    std::string expected = head;
    expected.replace(expected.find("tamed"), 5, "     ");
    EXPECT_EQ(built(head + " twait(r); return; }"),
              expected + " co_await ::heddle::tame::next(r); co_return; co_return; }");
  }
}
HEDDLE_TEST(tame_function, "is not found in names and calls") {
  for (const char* text : {"int tamed = 3;", "x.tamed();", "ns::tamed f();", "f(tamed);",
                           "p->tamed = 1;", "heddle::tamed f() { twait_(r); }"})
    EXPECT_EQ(built(text), text);
}
HEDDLE_TEST(tame_function, "may be a lambda") {
  EXPECT_EQ(built("auto f = [](event<> e) tamed { twait(r); return; };"),
            "auto f = [](event<> e) -> void { co_await ::heddle::tame::next(r); co_return; "
            "co_return; };");
}

// Returns.

HEDDLE_TEST(tame_return, "becomes co_return, but not in lambdas and local classes") {
  EXPECT_EQ(with_wait("if (x) return;"), with_wait_built("if (x) co_return;"));
  for (const char* same :
       {"g([] { return 1; });", "g([&](int a) -> int { return a; });",
        "g([x = 3]<class T>(T t) mutable noexcept -> std::vector<int> { return t; });",
        "struct s { int g() { return 1; } };", "auto& [a, b] = c; return_(a[b]);",
        "g(a[0], [&] { return [] { return 2; }; });", "union u { u() { return; } };",
        "struct s : t<u> { s() { return; } } v;"})
    EXPECT_EQ(with_wait(same), with_wait_built(same)) << same;
  EXPECT_EQ(with_wait("auto& [a, b] = c; return;"),
            with_wait_built("auto& [a, b] = c; co_return;"));
  EXPECT_EQ(with_wait("for (auto& [k, v] : m) { return; }"),
            with_wait_built("for (auto& [k, v] : m) { co_return; }"));
  EXPECT_EQ(with_wait("enum class e { a }; { return; }"),
            with_wait_built("enum class e { a }; { co_return; }"));
  EXPECT_EQ(with_wait("struct t* p = q(); { return; }"),
            with_wait_built("struct t* p = q(); { co_return; }"));
}
HEDDLE_TEST(tame_return, "of a macro of the file uses a twin of the macro") {
  EXPECT_EQ(
      built("#define QUIT(x) do { if (x) return; } while (0)\n"
            "void g() { QUIT(1); }\n"
            "tamed void f() { QUIT(2); twait(r); }\n"),
      "#define QUIT(x) do { if (x) return; } while (0)\n"
      "#define heddle_tame_QUIT(x) do { if (x) co_return; } while (0)\n"
      "void g() { QUIT(1); }\n"
      "      void f() { heddle_tame_QUIT(2); co_await ::heddle::tame::next(r); co_return; }\n");
}
HEDDLE_TEST(tame_return, "of a macro that nobody tamed uses leaves the macro alone") {
  const char* same = "#define QUIT return\nvoid g() { QUIT; }\n";
  EXPECT_EQ(built(same), same);
}
HEDDLE_TEST(tame_return, "reaches macros through macros") {
  const std::string text =
      built("#define A return\n#define B A\ntamed void f() { B; twait(r); }\n");
  EXPECT_NE(text.find("#define heddle_tame_A co_return"), std::string::npos) << text;
  EXPECT_NE(text.find("#define heddle_tame_B heddle_tame_A"), std::string::npos) << text;
}

HEDDLE_TEST(tame_return, "before the end makes two functions of one with DEFAULT_RETURN") {
  const std::string text =
      "static tamed\nint f(int a, T& = b, CLOSURE) {\n"
      "  DEFAULT_RETURN { return -1; }\n  if (a) return (a, 2);\n"
      "  if (b) return;\n  twait(r);\n}\n";
  EXPECT_EQ(
      built(text, dialect::tame),
      "static \nint f(int a, T& heddle_unnamed_0); void heddle_starts_f("
      "::heddle::tame::early_return<int> heddle_early, int a, T& heddle_unnamed_0 = b         ) {\n"
      "                               \n  if (a) co_return heddle_early.set( (a, 2));\n"
      "  if (b) co_return;\n  co_await ::heddle::tame::next(r);\n"
      "co_return; } static int f(int a, T& heddle_unnamed_0) { ::heddle::tame::early_return<int> "
      "heddle_early; heddle_starts_f(heddle_early, static_cast<decltype(a)&&>(a), "
      "static_cast<decltype(heddle_unnamed_0)&&>(heddle_unnamed_0)); if (heddle_early.has()) "
      "return "
      "heddle_early.take();  return -1;  }\n");
  EXPECT_EQ(built("tamed int f() { DEFAULT_RETURN { return 0; } g(); }", dialect::tame),
            "      int f() {                              g();  return 0;  }");
}
HEDDLE_TEST(tame_return, "of a type with the name of a specifier in it stays whole") {
  const std::string text =
      built("tamed inline_vector f() { DEFAULT_RETURN { return {}; } twait(r); }", dialect::tame);
  EXPECT_NE(text.find("early_return<inline_vector>"), std::string::npos) << text;
}
HEDDLE_TEST(tame_return, "of another type than void is what --returns asks for") {
  const source::source_file file(
      "a.tcc", "tamed void f();\ntamed g() { return; }\nauto tamed h() -> void { twait(r); }\n");
  source::diagnostics found;
  EXPECT_EQ(translate(file, {.line_directives = false, .returns = "X"}, found).text,
            "      X f();\nX  g() { co_return; co_return; }\n"
            "auto       h() -> X { co_await ::heddle::tame::next(r); co_return; }\n");
}

// twait.

HEDDLE_TEST(tame_wait, "for all events of a body") {
  EXPECT_EQ(built("tamed void f() { twait { g(make_event(x)); }\n}"),
            in_function(wait(" g(make_event(x)); ")));
}
HEDDLE_TEST(tame_wait, "on the line of the closing bracket") {
  EXPECT_EQ(built("tamed void f() {\ntwait {\ng(make_event());\n}\n}"),
            "      void f() {\n" + std::string(open_wait) + "\ng(make_event());\n" + close_wait +
                "\nco_return; }");
}
HEDDLE_TEST(tame_wait, "volatile, and described") {
  EXPECT_EQ(built("tamed void f() { twait volatile { }\n}"),
            "      void f() { { ::heddle::tame::gather heddle_gather;          " +
                std::string(open_wait).substr(40) +
                " } co_await heddle_gather.quiet(); }\nco_return; }");
  const std::string text = built("tamed void f() { twait [\"a\" + /* } */\n b[1]] { }\n}");
  EXPECT_NE(text.find("} if (::heddle::tame::describing()) heddle_gather.describe(\"a\" +   b[1]); "
                      "co_await heddle_gather; }"),
            std::string::npos)
      << text;
}
HEDDLE_TEST(tame_wait, "in each other") {
  EXPECT_EQ(built("tamed void f() { twait { twait { } }\n}"),
            in_function(wait(" " + wait(" ") + " ")));
}
HEDDLE_TEST(tame_wait, "for one event of a rendezvous, also in an expression") {
  EXPECT_EQ(with_wait("twait(r, i, j);"),
            with_wait_built("co_await ::heddle::tame::next(r, i, j);"));
  EXPECT_EQ(with_wait("if (a) twait(r); else twait(q);"),
            with_wait_built(
                "if (a) co_await ::heddle::tame::next(r); else co_await ::heddle::tame::next(q);"));
  EXPECT_EQ(with_wait("x = twait(r).y;"),
            with_wait_built("x = (co_await ::heddle::tame::next(r)).y;"));
}
HEDDLE_TEST(tame_wait, "is the statement of if, else, for, while and do") {
  EXPECT_EQ(with_wait("for (;;) twait { } do twait { } while (0); if (a) twait { } else twait { }"),
            with_wait_built("for (;;) " + wait(" ") + " do " + wait(" ") + " while (0); if (a) " +
                            wait(" ") + " else " + wait(" ")));
}
HEDDLE_TEST(tame_wait, "is no word in text and members") {
  const char* same =
      "// twait { }\nauto s = \"twait {\"; auto t = R\"(tamed void f() { twait(r); })\";\n"
      "void g() { a.twait(r); b->twait { }; c::twait(r); int twait = 1; }\n"
      "struct d { void twait(int); };\n";
  EXPECT_EQ(built(same), same);
}
HEDDLE_TEST(tame_wait, "body drops the qualification of make_event") {
  EXPECT_EQ(built("tamed void f() { twait { g(tamer::make_event(x)); }\n}"),
            in_function(wait(" g(       make_event(x)); ")));
  EXPECT_EQ(with_wait("e = tamer::make_event(r);"), with_wait_built("e = tamer::make_event(r);"));
}
HEDDLE_TEST(tame_wait, "in a macro of the file is translated there") {
  EXPECT_EQ(built("#define PAUSE twait { g(make_event()); }\ntamed void f() { PAUSE return; }\n"),
            "#define PAUSE " + wait(" g(make_event()); ") +
                "\n      void f() { PAUSE co_return; co_return; }\n");
}
HEDDLE_TEST(tame_wait, "in a macro with parameters, beside a return") {
  EXPECT_EQ(built("#define SEND(x) twait { g((x), make_event()); } if (y) { return; }\n"
                  "tamed void f() { SEND(1); }\n"),
            "#define SEND(x) " + wait(" g((x), make_event()); ") +
                " if (y) { co_return; }\n      void f() { SEND(1); co_return; }\n");
}
HEDDLE_TEST(tame_wait, "of a macro that begins the function") {
  EXPECT_EQ(built("#define HANDLER(n) tamed void n(int x)\nHANDLER(f) { twait(r); }\n"),
            "#define HANDLER(n)       void n(int x)\nHANDLER(f) { co_await "
            "::heddle::tame::next(r); co_return; }\n");
}

// Variables.

HEDDLE_TEST(tame_variables, "stand as statements") {
  EXPECT_EQ(built("tamed void f() {\n  tvars {\n    int a;\n    T b[3], &c = d;\n  }\n}"),
            "      void f() {\n         \n    int a;\n    T b[3], &c = d;\n   \n}");
  EXPECT_EQ(built("tamed void f() { tamed { int a(1), b = 2; } }"),
            "      void f() {         int a(1), b = 2;   }");
}
HEDDLE_TEST(tame_variables, "that would declare functions are written otherwise") {
  const struct {
    const char* from;
    const char* to;
  } cases[] = {
      {"T x(g());", "T x((g()));"},
      {"int x ();", "int x {};"},
      {"std::vector<int, A<B>> v(std::string(), 2), w();",
       "std::vector<int, A<B>> v((std::string()), 2), w{};"},
      {"T x(1), y(a), z({1, 2});", "T x(1), y(a), z({1, 2});"},
      {"void (*p)(int); std::function<void()> q;", "void (*p)(int); std::function<void()> q;"},
      {"auto x = g(h()); T* p(new T(1));", "auto x = g(h()); T* p((new T(1)));"},
      {"decltype(a) x(b()); A::B c(d());", "decltype(a) x((b())); A::B c((d()));"},
      {"T x(args...); int y{g()};", "T x(args...); int y{g()};"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(built("tamed void f() { tvars { " + std::string(c.from) + " } }"),
              "      void f() {         " + std::string(c.to) + "   }")
        << c.from;
}

// The original dialect.

HEDDLE_TEST(tame_dialect, "of the original drops CLOSURE and renames _self") {
  EXPECT_EQ(built("tamed void f(int a, CLOSURE); void g(CLOSURE);", dialect::tame),
            "      void f(int a         ); void g(       );");
  EXPECT_EQ(built("tamed A::f() { g(_self, mkevent(r)); twait(r); }", dialect::tame),
            "void  A::f() { g(this , mkevent(r)); co_await ::heddle::tame::next(r); co_return; }");
}
HEDDLE_TEST(tame_dialect, "of the original has waits in threaded functions") {
  EXPECT_EQ(built("int f() { twait { g(mkevent()); } return 1; }", dialect::tame),
            "int f() { { ::heddle::tame::gather heddle_gather; { [[maybe_unused]] const "
            "::heddle::tame::tame_maker make_event(heddle_gather); [[maybe_unused]] const auto& "
            "mkevent = make_event; [[maybe_unused]] const ::heddle::tame::forker "
            "tfork(heddle_gather); g(mkevent()); } "
            "::heddle::tame::wait_in_thread(heddle_gather); } return 1; }");
}
HEDDLE_TEST(tame_dialect, "of the original has threaded functions inside of their classes") {
  EXPECT_EQ(
      built("class a { int f() { twait(r); if (x) { twait(r, i); } return i; } };", dialect::tame),
      "class a { int f() { ::heddle::tame::next_in_thread(r); if (x) { "
      "::heddle::tame::next_in_thread(r, i); } return i; } };");
  EXPECT_EQ(built("class a { int twait(int); };", dialect::tame), "class a { int twait(int); };");
}

// The preprocessor.

HEDDLE_TEST(tame_preprocessor,
            "conditionals may stand around whole waits, heads and declarations") {
  EXPECT_EQ(built("tamed void f() {\n#if A\ntwait(r);\n#else\nreturn;\n#endif\n}\n"),
            "      void f() {\n#if A\nco_await "
            "::heddle::tame::next(r);\n#else\nco_return;\n#endif\nco_return; }\n");
  EXPECT_EQ(
      built("#ifdef A\ntamed void f(int a) {\n#else\ntamed void f() {\n#endif\ntwait(r);\n}\n"),
      "#ifdef A\n      void f(int a) {\n#else\n      void f() {\n#endif\nco_await "
      "::heddle::tame::next(r);\nco_return; }\n");
}
HEDDLE_TEST(tame_preprocessor, "what is never compiled is passed over") {
  const char* same = "void g() {\n#if 0\n don't } twait { \"\n#endif\n}\n";
  EXPECT_EQ(built(same), same);
}
HEDDLE_TEST(tame_preprocessor, "what is never compiled in a tamed function stays as it is") {
  EXPECT_EQ(built("tamed void f() {\n#if 0\n } twait { return;\n#endif\n twait(r);\n}\n"),
            "      void f() {\n#if 0\n } twait { return;\n#endif\n co_await "
            "::heddle::tame::next(r);\nco_return; }\n");
}
HEDDLE_TEST(tame_preprocessor, "heads in branches share the waits of their body") {
  EXPECT_EQ(
      built("#ifdef A\ntamed void f(int a) {\n#else\ntamed void f() {\n if (b) return;\n#endif\n"
            "twait(r);\n}\n"),
      "#ifdef A\n      void f(int a) {\n#else\n      void f() {\n if (b) co_return;\n#endif\n"
      "co_await ::heddle::tame::next(r);\nco_return; }\n");
}
HEDDLE_TEST(tame_preprocessor, "brackets of other code may differ in branches") {
  const char* same =
      "#ifdef __cplusplus\nextern \"C\" {\n#endif\nvoid g();\n#ifdef __cplusplus\n}\n#endif\n";
  EXPECT_EQ(built(same), same);
}
HEDDLE_TEST(tame_preprocessor, "comments switch translation off and on") {
  EXPECT_EQ(built("/* TAME_OFF */ tamed void f() { twait(r); } /* TAME_ON */ tamed void g();"),
            "/* TAME_OFF */ tamed void f() { twait(r); } /* TAME_ON */       void g();");
}

// Invariants.

HEDDLE_TEST(tame_output, "begins with one #line, and keeps marks and line ends") {
  const source::source_file file("dir/a.tcc", "\xef\xbb\xbftamed void f();\r\n");
  source::diagnostics found;
  EXPECT_EQ(translate(file, {}, found).text,
            "\xef\xbb\xbf#line 1 \"dir/a.tcc\"\n      void f();\r\n");
}
HEDDLE_TEST(tame_output, "keeps every line on its number") {
  const std::string text =
      "tamed void f(int a,\n  int b) {\n tvars {\n  int x(g(\n));\n }\n twait [\n\"d\"\n] {\n }\n "
      "twait(r,\n x);\n return;\n}\n";
  const std::string out = built(text);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
}
HEDDLE_TEST(tame_output, "of files without Tame is the file") {
  std::size_t files = 0;
  for (const char* folder : {"/include", "/src", "/tests/core"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(heddle::test::source_dir() + folder)) {
      const std::string path = entry.path();
      if (!entry.is_regular_file() || !(path.ends_with(".hh") || path.ends_with(".cc"))) continue;
      // The output's own names stand there.
      if (path.find("include/tamer") != std::string::npos ||
          path.find("src/tame") != std::string::npos)
        continue;
      const std::string text = source::read_text(path).value();
      if (text.find("twait {") != std::string::npos || text.find("tamed ") != std::string::npos ||
          text.find("twait volatile") != std::string::npos)
        continue;  // Heddle's own words of the same spelling
      EXPECT_EQ(built(text), text) << path;
      ++files;
    }
  }
  EXPECT_GT(files, 100U);
}
HEDDLE_TEST(tame_output, "of the headers of the C++ library is the header, in both dialects") {
  std::error_code failed;
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator("/usr/include/c++", failed)) {
    if (!entry.is_regular_file()) continue;
    const std::string text = source::read_text(entry.path()).value();
    EXPECT_EQ(built(text), text) << entry.path();
    EXPECT_EQ(built(text, dialect::tame), text) << entry.path();
    ++files;
  }
  if (!failed) EXPECT_GT(files, 500U);
}
HEDDLE_TEST(tame_output, "takes linear time") {
  const auto time_of = [](const std::string& text) {
    const source::source_file file("a.tcc", text);
    source::diagnostics found;
    // The processor's time: others may use the machine too.
    const std::clock_t start = std::clock();
    static_cast<void>(translate(file, {}, found));
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  const auto repeated = [](const std::string& piece, std::size_t bytes) {
    std::string out;
    while (out.size() < bytes) out += piece;
    return out;
  };
  const std::string pieces[] = {"(",
                                "{",
                                "tamed void f() { twait { ",
                                "twait {",
                                "a<",
                                "#if A\n{\n",
                                "\\\n",
                                "R\"(",
                                "tamed void f() { tvars { a<b<c(d()), ",
                                "#define A return A\n",
                                "/*",
                                "[",
                                "[](",
                                "struct ",
                                "tamed void f() { twait { int a; g(make_event(a)); ",
                                "#define B twait { }\n",
                                "#if A\n#else\n",
                                "tamed f() { twait(r); return; }\n",
                                "template <class T> tamed void f(T<T<T<",
                                "tamed void f(T& s) { twait { g(); } use(s); }\n",
                                "tamed a } ",
                                "while (a) { e = make_event(r, b); ",
                                "tamed int f() { DEFAULT_RETURN { } twait(r); return { return "};
  for (const std::string& piece : pieces) {
    const double small_s = time_of(repeated(piece, 20'000));
    const double large_s = time_of(repeated(piece, 400'000));
    // Twenty times the text; a quadratic step would take four hundred times as long.
    EXPECT_LT(large_s, 100 * small_s + 0.3) << piece;
  }
  const auto crossed = [](std::size_t n) { return std::string(n, '(') + std::string(n, '}'); };
  EXPECT_LT(time_of(crossed(200'000)), 100 * time_of(crossed(10'000)) + 0.3);
}

}  // namespace
}  // namespace heddle::tame

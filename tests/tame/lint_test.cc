// SPDX-License-Identifier: MIT
// Lints: what a port tells of, and what it keeps silent about.
#include <algorithm>

#include "support/test.hh"
#include "tame/translate.hh"

namespace heddle::tame {
namespace {

/// The codes of what a port says, in the order of the text.
std::string lints(const std::string& body, const std::string& parameters = "") {
  const source::source_file file("a.tcc", "tamed void f(" + parameters + ") {\n" + body + "\n}\n");
  source::diagnostics found;
  static_cast<void>(port(file, {}, found));
  found.sort();
  std::string out;
  for (const source::diagnostic& d : found.all()) out += (out.empty() ? "" : " ") + d.code;
  source::diagnostics built;
  static_cast<void>(translate(file, {}, built));
  EXPECT_EQ(built.size(), 0U) << "a build says nothing of lints";
  return out;
}

HEDDLE_TEST(tame_lint, "a reference, a view or a span is used after a wait, once for each") {
  const std::string wait = "twait { g(make_event()); }\n";
  EXPECT_EQ(lints(wait + "use(s); use(s); use(v);", "const std::string& s, std::string_view v"),
            "T0501 T0501");
  EXPECT_EQ(lints("use(s);\n" + wait, "std::string& s"), "");
  EXPECT_EQ(lints(wait + "use(s);", "std::string s, T&& t"), "");
  EXPECT_EQ(lints(wait + "{ int s; use(s); } a.s; b->s();", "std::string& s"), "");
  EXPECT_EQ(lints(wait + "twait(r);", "tamer::rendezvous<int>& r"), "");
  EXPECT_EQ(lints("twait { g(s, make_event()); }", "std::string& s"), "");
}
HEDDLE_TEST(tame_lint, "a twait body makes no event") {
  EXPECT_EQ(lints("twait { g(); }"), "T0502");
  EXPECT_EQ(lints("twait { }"), "");
  EXPECT_EQ(lints("twait { SEND(x); }"), "") << "a macro may make one";
  EXPECT_EQ(lints("twait { h([&] { return make_event(); }); }"), "");
  EXPECT_EQ(lints("twait { g(); twait { g(make_event()); } }"), "T0502") << "the outer one";
}
HEDDLE_TEST(tame_lint, "an event keeps a lambda that refers to variables") {
  EXPECT_EQ(lints("fun_event([&] { ++i; });"), "T0503");
  EXPECT_EQ(lints("tamer::fun_event<int>([&, n](int) { ++i; });"), "T0503");
  EXPECT_EQ(lints("fun_event([=] { use(i); }); g([&] { ++i; }); fun_event([&i] { ++i; });"), "");
}
HEDDLE_TEST(tame_lint, "a variable ends before the rendezvous of its event") {
  EXPECT_EQ(lints("tvars { tamer::rendezvous<> r; int a; }\n"
                  "{ int b; g(make_event(r, b)); }\ng(make_event(r, a)); twait(r);"),
            "T0504");
  EXPECT_EQ(lints("{ tamer::rendezvous<> r; int b; g(make_event(r, b)); twait(r); }"), "");
  EXPECT_EQ(lints("tamer::rendezvous<> r; for (int i = 0; i < 2; ++i) g(make_event(r, i));"),
            "T0504");
}
HEDDLE_TEST(tame_lint, "a loop drops the event of the turn before") {
  EXPECT_EQ(lints("while (n-- > 0) { e = make_event(r, x); }"), "T0505");
  EXPECT_EQ(lints("for (;;) { e = make_event(r, x); twait(r); }"), "");
  EXPECT_EQ(lints("do { e = make_event(r, x); all.push_back(e); } while (0);"), "");
}
HEDDLE_TEST(tame_lint, "the address of a thread_local variable is kept") {
  EXPECT_EQ(lints("thread_local int n = 0; int* p = &n; use(n); bool b = a & n;"), "T0506");
}

}  // namespace
}  // namespace heddle::tame

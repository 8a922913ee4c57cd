// SPDX-License-Identifier: MIT
// Pages whose parts are made at the same time: order, escapes, early bytes, failures.
#include "heddle/web/page.hh"

#include "support/wait_until.hh"
#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

task<std::string> text_after(nanoseconds wait, std::string text) {
  co_await sleep_for(wait);
  co_return text;
}
task<std::string> fails(nanoseconds wait) {
  co_await sleep_for(wait);
  throw failure(std::make_error_code(std::errc::host_unreachable), "no news");
}

std::atomic<bool> early_parts_came = false;
/// Is late: it waits until the client has the parts before it.
task<std::string> late_part() {
  EXPECT_TRUE(co_await wait_until([] { return early_parts_came.load(); }));
  co_return "late";
}

const http::page twelve(
    "<h1>{{a}}</"
    "h1>{{{b}}}{{{c}}}{{{d}}}{{{e}}}{{{f}}}|{{{slow}}}|{{{g}}}{{{h}}}{{{i}}}{{{j}}}{{k}}\n");

std::atomic<int> parts_cancelled = 0;
task<std::string> for_ever() {
  const auto ended = co_await as_expected(sleep_for(1h));
  if (!ended) ++parts_cancelled;
  co_return "";
}

task<http::response> answer_pages(http::request& r) {
  using http::part;
  static const http::page two("<p>{{{x}}}</p>\n{{ y }}");
  if (r.path() == "/twelve")
    co_return co_await twelve.send(r, part("a", "<&>"), part("b", text_after(1ms, "b")),
                                   part("c", text_after(3ms, "c")), part("d", text_after(1ms, "d")),
                                   part("e", text_after(2ms, "e")),
                                   part("f", text_after(1ms, "<f>")), part("slow", late_part()),
                                   part("g", text_after(1ms, "g")), part("h", text_after(1ms, "h")),
                                   part("i", text_after(1ms, "i")), part("j", text_after(1ms, "j")),
                                   part("k", text_after(90ms, "\"k\"")));
  if (r.path() == "/at-once") co_return co_await two.send(r, part("x", "1"), part("y", "2"));
  if (r.path() == "/instead")
    co_return co_await two.send(r, part("x", fails(1ms), "none"),
                                part("y", with_timeout(text_after(1h, ""), 2ms), "late"));
  if (r.path() == "/fails-first") {
    static const http::page one("{{x}}");
    co_return co_await one.send(r, part("x", fails(1ms)));
  }
  if (r.path() == "/fails-late")
    co_return co_await two.send(r, part("x", text_after(1ms, "x")), part("y", fails(5ms)));
  if (r.path() == "/missing") co_return co_await two.send(r, part("x", for_ever()));
  if (r.path() == "/unused")
    co_return co_await two.send(r, part("x", "1"), part("y", "2"), part("z", "3"));
  co_return co_await two.send(r, part("x", fails(20ms)), part("y", for_ever()));  // /cancels
}

}  // namespace

DRIVER_TEST(pages, "parts are made at once, sent in order, escaped, and early ones leave early") {
  HEDDLE_NEEDS_SOCKET();
  runtime rt(make());
  rt.run(with_server(answer_pages, {}, [](address at, http::server&) -> task<> {
    stream conn = co_await connect_to(at);
    const time_point begun = clock::now();
    early_parts_came = false;
    co_await conn.write("GET /twelve HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string early = co_await read_until(conn, "<f>|");
    EXPECT_EQ(early.find("late"), std::string::npos) << early;
    early_parts_came = true;
    EXPECT_EQ(field_of(early, "Content-Type"), "text/html; charset=utf-8");
    EXPECT_NE(early.find("<h1>&lt;&amp;&gt;</h1>"), std::string::npos) << early;
    const std::string rest = co_await read_until(conn, "\r\n0\r\n\r\n");
    EXPECT_GE(clock::now() - begun, 90ms);
    EXPECT_NE(rest.find("late|ghij"), std::string::npos) << rest;
    EXPECT_NE(rest.find("&quot;k&quot;"), std::string::npos) << rest;
  }));
}

DRIVER_TEST(pages, "what is there at once has a length; HEAD runs no part") {
  runtime rt(make());
  rt.run(with_server(answer_pages, {}, [](address at, http::server&) -> task<> {
    const std::string whole = co_await ask(at, "GET /at-once");
    EXPECT_EQ(status_of(whole), "200");
    EXPECT_EQ(field_of(whole, "Content-Length"), "10");
    EXPECT_EQ(body_of(whole), "<p>1</p>\n2");
    const std::string head = co_await ask(at, "HEAD /fails-first");
    EXPECT_EQ(status_of(head), "200");
    EXPECT_EQ(body_of(head), "");
  }));
}

DRIVER_TEST(pages, "a part that fails is replaced, refused or cut, by when it fails") {
  runtime rt(make());
  rt.run(with_server(answer_pages, {}, [](address at, http::server& web) -> task<> {
    const std::string instead = co_await ask(at, "GET /instead");
    EXPECT_NE(instead.find("none"), std::string::npos) << instead;
    EXPECT_NE(instead.find("late"), std::string::npos) << instead;
    EXPECT_EQ(web.counters().errors, 0u);
    EXPECT_EQ(status_of(co_await ask(at, "GET /fails-first")), "500");
    const std::string cut = co_await ask(at, "GET /fails-late");
    EXPECT_EQ(status_of(cut), "200");
    EXPECT_EQ(cut.find("0\r\n\r\n"), std::string::npos) << cut;
    const int before = parts_cancelled;
    static_cast<void>(co_await ask(at, "GET /cancels"));
    EXPECT_EQ(parts_cancelled, before + 1);  // no client waits for the other part
    EXPECT_EQ(status_of(co_await ask(at, "GET /missing")), "500");
    EXPECT_EQ(status_of(co_await ask(at, "GET /unused")), "500");
  }));
}

HEDDLE_TEST(page_text, "mistakes in the text are told with their line") {
  const auto said = [](const char* text) -> std::string {
    try {
      const http::page p(text);
    } catch (const failure& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(said("a {{b}} {{{c}}} } {"), "");
  EXPECT_NE(said("a\n{{b").find("line 2 of the page: {{ has no }}"), std::string::npos);
  EXPECT_NE(said("{{{b}}").find("{{{ has no }}}"), std::string::npos);
  EXPECT_NE(said("\n\n{{}}").find("line 3"), std::string::npos);
  EXPECT_NE(said("{{a b}}").find("'a b' is no name"), std::string::npos);
  EXPECT_EQ(http::page("{{a}}{{ b-1 }}{{{a}}}").places(),
            (std::vector<std::string_view>{"a", "b-1", "a"}));
}

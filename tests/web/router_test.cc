// SPDX-License-Identifier: MIT
// Routes: which handler a path and a method find, what the others are told, and what stands around.
#include "heddle/web/router.hh"

#include "heddle/http/cookie.hh"
#include "heddle/web/problem_details.hh"
#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

http::handler say(std::string text) {
  return [text](http::request&) -> task<http::response> {
    return
        [](std::string t) -> task<http::response> { co_return http::response(200).text(t); }(text);
  };
}

task<http::response> show(http::request& r) {
  co_return http::response(200).text(std::string(r.param("a")) + "|" + std::string(r.param("b")));
}
task<http::response> tail(http::request& r) {
  co_return http::response(200).text("tail:" + std::string(r.param("rest")));
}
task<http::response> number(http::request& r) {
  const int id = r.param<int>("id");
  const int page = r.query_value<int>("page").value_or(1);
  const bool all = r.query_value<bool>("all").value_or(false);
  std::string text = std::to_string(id) + "," + std::to_string(page) + (all ? ",all" : "");
  for (const std::string& tag : r.query_values("tag")) text += "," + tag;
  if (const auto depth = r.header_value<unsigned>("X-Depth")) text += "," + std::to_string(*depth);
  co_return http::response(200).text(text);
}
task<http::response> slow(http::request&) {
  co_await sleep_for(3600s);
  co_return http::response(200);
}
task<http::response> size(http::request& r) {
  co_return http::response(200).text(std::to_string((co_await r.text()).size()));
}
task<http::response> question(http::request& r) {
  co_return http::response(200).text("asked: " + co_await r.text());
}
task<http::response> fail(http::request& r) {
  throw http::status_error({.status = 409,
                            .title = "Taken",
                            .detail = "\"" + std::string(r.path()) + "\" is taken",
                            .type = "https://example.com/taken",
                            .more_members = "\"retry\":true"});
  co_return http::response(200);
}
task<http::response> cookies(http::request& r) {
  http::response out(200);
  out.cookie(http::set_cookie("seen", "1").max_age(60s));
  co_return std::move(out).text(std::string(r.cookie("session").value_or("none")));
}

task<http::response> outer(http::request& r, http::next go_on) {
  r.add_header("X-Outer", "yes");
  http::response answer = co_await go_on(r);
  answer.header("X-Status", std::to_string(answer.status()));
  co_return answer;
}
task<http::response> guard(http::request& r, http::next go_on) {
  if (r.header("authorization").empty()) throw http::status_error(401, "log in first");
  co_return co_await go_on(r);
}

http::router example() {
  http::router routes;
  routes.get("/", say("root"))
      .get("/a", say("a"))
      .get("/a/", say("a/"))
      .get("/a/fixed", say("fixed"))
      .get("/a/{a}/x/{b}", show)
      .get("/a/fixed/x/only", say("only"))
      .post("/a/{b}/x/{a}", show)
      .get("/files/{rest...}", tail)
      .get("/files/one", say("one"))
      .get("/number/{id}", number)
      .get("/slow", slow, {.timeout = 1s})
      .post("/small", size, {.body_bytes_max = 10})
      .post("/large", size, {.body_bytes_max = 4'000'000, .body_timeout = 1s})
      .get("/fail", fail)
      .get("/cookies", cookies)
      .get("/admin/{x}", say("admin"))
      .get("/many", say("get"))
      .put("/many", say("put"))
      .on("REPORT", "/many", say("report"))
      .get("/search", say("page"))
      .query("/search", question, {.query_types = "application/json, text/plain;charset=utf-8"})
      .query("/free", question)
      .any("/any", say("any"))
      .delete_("/any", say("delete"));
  routes.use(outer).use("/admin", guard);
  return routes;
}

void with_routes(std::function<task<>(address, http::server&)> body,
                 http::server_options options = {}) {
  runtime rt(std::make_unique<sim_driver>());
  rt.run(with_server(example(), std::move(options), std::move(body)));
}

task<std::string> get_from(address at, std::string target, std::string fields = "") {
  co_return body_of(co_await ask(at, "GET " + target, fields));
}

}  // namespace

HEDDLE_TEST(router, "the most exact pattern wins, segment by segment, and gives way when it must") {
  with_routes([](address at, http::server&) -> task<> {
    EXPECT_EQ(co_await get_from(at, "/"), "root");
    EXPECT_EQ(co_await get_from(at, "/a"), "a");
    EXPECT_EQ(co_await get_from(at, "/a/"), "a/");
    EXPECT_EQ(co_await get_from(at, "/a/fixed"), "fixed");
    EXPECT_EQ(co_await get_from(at, "/a/1/x/2"), "1|2");
    EXPECT_EQ(co_await get_from(at, "/a/fixed/x/2"), "fixed|2");
    EXPECT_EQ(co_await get_from(at, "/a/fixed/x/only"), "only");
    EXPECT_EQ(body_of(co_await ask(at, "POST /a/1/x/2")), "2|1");
    EXPECT_EQ(body_of(co_await ask(at, "POST /a/fixed/x/only")), "only|fixed");
    EXPECT_EQ(co_await get_from(at, "/files/"), "tail:");
    EXPECT_EQ(co_await get_from(at, "/files/one"), "one");
    EXPECT_EQ(co_await get_from(at, "/files/one/two"), "tail:one/two");
    EXPECT_EQ(co_await get_from(at, "/admin/1", "Authorization: me\r\n"), "admin");
  });
}

HEDDLE_TEST(router, "paths are decoded after they were split, and dot segments removed") {
  with_routes([](address at, http::server&) -> task<> {
    EXPECT_EQ(co_await get_from(at, "/a/x%2Fy/x/%7B%20"), "x/y|{ ");
    EXPECT_EQ(co_await get_from(at, "/a/%66ixed"), "fixed");
    EXPECT_EQ(co_await get_from(at, "/b/../a/./fixed"), "fixed");
    EXPECT_EQ(co_await get_from(at, "/a/fixed/.."), "a/");
    EXPECT_EQ(co_await get_from(at, "/a/fixed/%2e%2e/"), "a/");
    EXPECT_EQ(co_await get_from(at, "/files/b/%2e%2e/c%20d"), "tail:c d");
    std::string deep = "/files";
    for (int i = 0; i < 50; ++i) deep += "/d";
    EXPECT_EQ(co_await get_from(at, deep), "tail:" + deep.substr(7));
    for (const char* bad : {"/..", "/a/../../b", "/%2e%2e/a", "/a%", "/a%0gb", "/a%00b", "/a%0d"})
      EXPECT_EQ(status_of(co_await ask(at, std::string("GET ") + bad)), "400") << bad;
    for (const char* none : {"/b", "/a//", "/a//x/1", "/a/1/x", "/a/1/x/2/", "/files", "/A", "//"})
      EXPECT_EQ(status_of(co_await ask(at, std::string("GET ") + none)), "404") << none;
  });
}

HEDDLE_TEST(router, "what stands around a path is not passed by on empty or dot segments") {
  runtime rt(std::make_unique<sim_driver>());
  http::router routes;
  routes.get("/{rest...}", tail).use("//admin//x/", guard);
  rt.run(with_server(std::move(routes), {}, [](address at, http::server&) -> task<> {
    const std::string many(40, '/');
    for (const std::string& path : std::vector<std::string>{
             "/admin/x", "/admin/x/y", "//admin/x", "/admin//x", "///admin///x///y", "/.//admin/x",
             "/b/..//admin/x", "/%61dmin//x", "http://h//admin/x", many + "admin" + many + "x",
             many + "admin/x/y"})
      EXPECT_EQ(status_of(co_await ask(at, "GET " + path)), "401") << path;
    for (const char* path : {"/admin", "/admin//", "/x/admin/x", "/admin/xy", "/"})
      EXPECT_EQ(status_of(co_await ask(at, std::string("GET ") + path)), "200") << path;
  }));
}

HEDDLE_TEST(router,
            "another method is told which ones there are; HEAD and OPTIONS come by themselves") {
  with_routes([](address at, http::server&) -> task<> {
    const std::string post = co_await ask(at, "POST /many");
    EXPECT_EQ(status_of(post), "405");
    EXPECT_EQ(field_of(post, "Allow"), "GET, HEAD, PUT, REPORT, OPTIONS");
    EXPECT_EQ(body_of(co_await ask(at, "REPORT /many")), "report");
    const std::string options = co_await ask(at, "OPTIONS /many");
    EXPECT_EQ(status_of(options), "204");
    EXPECT_EQ(field_of(options, "Allow"), "GET, HEAD, PUT, REPORT, OPTIONS");
    const std::string head = co_await ask(at, "HEAD /many");
    EXPECT_EQ(status_of(head), "200");
    EXPECT_EQ(field_of(head, "Content-Length"), "3");
    EXPECT_EQ(body_of(head), "");
    const std::string star = co_await ask(at, "OPTIONS *");
    EXPECT_EQ(status_of(star), "204");
    EXPECT_NE(field_of(star, "Allow").find("POST"), std::string::npos);
    EXPECT_EQ(body_of(co_await ask(at, "BREW /any")), "any");
    EXPECT_EQ(body_of(co_await ask(at, "DELETE /any")), "delete");
    EXPECT_EQ(status_of(co_await talk(
                  at, "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nConnection: close\r\n\r\n")),
              "501");
  });
}

HEDDLE_TEST(router,
            "a QUERY is asked in a form that its route takes, and told which ones those are") {
  with_routes([](address at, http::server&) -> task<> {
    const auto query = [at](std::string path, std::string type) {
      if (!type.empty()) type = "Content-Type: " + type + "\r\n";
      return ask(at, "QUERY " + path, type + "Content-Length: 2\r\n", "{}");
    };
    const std::string types = "application/json, text/plain;charset=utf-8";
    for (const char* good : {"application/json", "Application/JSON;a=b", "text/plain ; x=y"})
      EXPECT_EQ(body_of(co_await query("/search", good)), "asked: {}") << good;
    for (const char* bad : {"text/html", "application/json5", "application"}) {
      const std::string refused = co_await query("/search", bad);
      EXPECT_EQ(status_of(refused), "415") << bad;
      EXPECT_EQ(field_of(refused, "Accept-Query"), types) << bad;
    }
    const std::string untyped = co_await query("/search", "");
    EXPECT_EQ(status_of(untyped), "400");
    EXPECT_EQ(field_of(untyped, "Accept-Query"), types);
    EXPECT_EQ(body_of(co_await query("/free", "text/html")), "asked: {}");
    EXPECT_EQ(status_of(co_await query("/free", "")), "400");
    EXPECT_EQ(body_of(co_await query("/any", "")), "any");
    for (const char* other : {"OPTIONS /search", "POST /search"}) {
      const std::string told = co_await ask(at, other);
      EXPECT_EQ(field_of(told, "Allow"), "GET, HEAD, QUERY, OPTIONS") << other;
      EXPECT_EQ(field_of(told, "Accept-Query"), types) << other;
    }
    EXPECT_EQ(field_of(co_await query("/many", "a/b"), "Allow"), "GET, HEAD, PUT, REPORT, OPTIONS");
  });
}

HEDDLE_TEST(router, "values are typed, and a wrong one is a 400 that names it") {
  with_routes([](address at, http::server&) -> task<> {
    EXPECT_EQ(co_await get_from(at, "/number/7"), "7,1");
    EXPECT_EQ(
        co_await get_from(at, "/number/-7?page=3&all=on&tag=a%20b&t%61g=c+d", "X-Depth: 9\r\n"),
        "-7,3,all,a b,c d,9");
    for (const char* bad : {"/number/x", "/number/7x", "/number/99999999999", "/number/7?page=",
                            "/number/7?page=1.5", "/number/7?all=maybe", "/number/7?page=%zz"})
      EXPECT_EQ(status_of(co_await ask(at, std::string("GET ") + bad)), "400") << bad;
    EXPECT_NE(
        (co_await get_from(at, "/number/7?page=x")).find(R"(parameter \"page\" is not a whole)"),
        std::string::npos);
    EXPECT_EQ(status_of(co_await ask(at, "GET /number/7", "X-Depth: -1\r\n")), "400");
  });
}

HEDDLE_TEST(router, "a route has its own limits of size and time") {
  with_routes([](address at, http::server& web) -> task<> {
    EXPECT_EQ(status_of(co_await ask(at, "POST /small", "Content-Length: 10\r\n", "0123456789")),
              "200");
    EXPECT_EQ(status_of(co_await ask(at, "POST /small", "Content-Length: 11\r\n")), "413");
    EXPECT_EQ(status_of(co_await ask(at, "POST /small", "Transfer-Encoding: chunked\r\n",
                                     "b\r\n0123456789a\r\n0\r\n\r\n")),
              "413");
    EXPECT_EQ(body_of(co_await ask(at, "POST /large", "Content-Length: 2000000\r\n",
                                   std::string(2'000'000, 'l'))),
              "2000000");
    time_point began = clock::now();
    EXPECT_EQ(status_of(co_await ask(at, "GET /slow")), "503");
    EXPECT_LT(clock::now() - began, 2s);
    began = clock::now();
    EXPECT_EQ(status_of(co_await ask(at, "POST /large", "Content-Length: 2000000\r\n")), "408");
    EXPECT_LT(clock::now() - began, 2s);
    EXPECT_EQ(web.counters().body_timeouts, 1u);
  });
}

HEDDLE_TEST(router, "middleware sees every request, and what lies beneath its path") {
  with_routes([](address at, http::server&) -> task<> {
    const std::string found = co_await ask(at, "GET /a");
    EXPECT_EQ(field_of(found, "X-Outer"), "yes");
    EXPECT_EQ(field_of(found, "X-Status"), "200");
    const std::string missing = co_await ask(at, "GET /none");
    EXPECT_EQ(field_of(missing, "X-Status"), "404");
    const std::string thrown = co_await ask(at, "GET /admin/1");
    EXPECT_EQ(status_of(thrown), "401");
    EXPECT_EQ(field_of(thrown, "X-Outer"), "yes");
    EXPECT_EQ(field_of(thrown, "X-Status"), "");
    EXPECT_EQ(status_of(co_await ask(at, "GET /%61dmin/1")), "401");
    EXPECT_EQ(status_of(co_await ask(at, "GET /a/../admin/1")), "401");
    EXPECT_EQ(status_of(co_await ask(at, "GET /administrator")), "404");
  });
}

HEDDLE_TEST(router,
            "errors are problem documents, text for who asks for text, or the program's own") {
  with_routes([](address at, http::server&) -> task<> {
    const std::string json = co_await ask(at, "GET /fail");
    EXPECT_EQ(status_of(json), "409");
    EXPECT_EQ(field_of(json, "Content-Type"), "application/problem+json");
    EXPECT_EQ(body_of(json),
              "{\"type\":\"https://example.com/taken\",\"title\":\"Taken\",\"status\":409,"
              "\"detail\":\"\\\"/fail\\\" is taken\",\"retry\":true}\n");
    const std::string text = co_await ask(at, "GET /none", "Accept: text/html, */*\r\n");
    EXPECT_EQ(field_of(text, "Content-Type"), "text/plain; charset=utf-8");
    EXPECT_EQ(body_of(text), "404 Not Found\nthere is nothing here by this name\n");
  });
  http::server_options options;
  options.error_page = [](const http::request_head* head, int status, std::string_view why) {
    return http::response(status).text(std::string(head == nullptr ? "-" : head->path()) + " " +
                                       std::string(why));
  };
  with_routes(
      [](address at, http::server&) -> task<> {
        EXPECT_EQ(body_of(co_await ask(at, "GET /fail")), "/fail \"/fail\" is taken");
        EXPECT_EQ(body_of(co_await ask(at, "GET /none")),
                  "/none there is nothing here by this name");
        EXPECT_EQ(body_of(co_await talk(at, "G@T / HTTP/1.1\r\n\r\n")),
                  "- the method is not a token followed by one space");
      },
      options);
}

HEDDLE_TEST(cookie, "cookies are read from every line, and set so that scripts do not see them") {
  with_routes([](address at, http::server&) -> task<> {
    const std::string some =
        co_await ask(at, "GET /cookies", "Cookie: a=b; xsession=no\r\nCookie: session=\"s 1\"\r\n");
    EXPECT_EQ(body_of(some), "s 1");
    EXPECT_EQ(field_of(some, "Set-Cookie"),
              "seen=1; Path=/; Max-Age=60; HttpOnly; Secure; SameSite=Lax");
    EXPECT_EQ(co_await get_from(at, "/cookies", "Cookie: ;;=x; session; ;\r\n"), "none");
  });
  using http::set_cookie;
  EXPECT_FALSE(set_cookie("a b", "c").text());
  EXPECT_FALSE(set_cookie("a", "b;c").text());
  EXPECT_FALSE(set_cookie("a", "b\r\nSet-Cookie: c=d").text());
  EXPECT_FALSE(set_cookie("a", "b").path("/;x").text());
  EXPECT_FALSE(set_cookie("a", "b").site(http::same_site::none).secure(false).text());
  EXPECT_EQ(
      *set_cookie("a", "b").http_only(false).secure(false).path("").domain("example.org").text(),
      "a=b; Domain=example.org; SameSite=Lax");
}

HEDDLE_TEST(router_death, "a pattern that cannot mean anything is an assertion") {
  http::router routes;
  routes.get("/a/{x}", say("a"));
  EXPECT_DEATH(routes.get("/a/{y}", say("b")), "have a route");
  EXPECT_DEATH(routes.get("a", say("b")), "starts with a slash");
  EXPECT_DEATH(routes.get("/{x...}/b", say("b")), "at the end");
  EXPECT_DEATH(routes.get("/{}", say("b")), "has a name");
  EXPECT_DEATH(routes.get("/{a}b", say("b")), "whole segment");
}

// SPDX-License-Identifier: MIT
// What becomes of an exception that leaves a handler: who learns of it, and what the report says.
// And which handler the report of a slow one names.
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "heddle/core/exception_lines.hh"
#include "heddle/web/problem_details.hh"
#include "heddle/web/router.hh"
#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

task<http::response> handler_breaks(http::request&) {
  co_await sleep_for(1ms);
  throw std::runtime_error("the table notes does not exist");
}
task<http::response> handler_breaks_at_once(http::request&) {
  throw std::runtime_error("no such table");
  co_return http::response(200);
}
task<http::response> handler_refuses(http::request&) {
  throw http::status_error(404, "not here");
  co_return http::response(200);
}
task<http::response> handler_reads(http::request& r) {
  co_return http::response(200).text(co_await r.text());
}
task<http::response> handler_never_ends(http::request& r) {
  http::body_writer out = co_await r.start(http::response(200));
  for (;;) co_await out.write(std::string(100'000, 'x'));
}
[[gnu::noinline]] void work_for(nanoseconds span) {
  // The very thing that is measured: a function that keeps its thread.
  std::this_thread::sleep_for(span);
}
task<http::response> handler_is_slow(http::request&) {
  work_for(60ms);
  co_return http::response(200);
}
task<http::response> handler_is_quick(http::request&) { co_return http::response(200); }
task<http::response> handler_is_slow_after_a_wait(http::request&) {
  co_await sleep_for(1ms);
  work_for(60ms);
  co_return http::response(200);
}

unsigned breaks_line = 0, slow_line = 0, lambda_line = 0;
http::router failing_routes() {
  http::router routes;
  breaks_line = __LINE__ + 1;
  routes.get("/breaks", handler_breaks);
  routes.get("/at-once", handler_breaks_at_once);
  routes.get("/refuses", handler_refuses);
  routes.post("/reads", handler_reads);
  routes.get("/never-ends", handler_never_ends);
  slow_line = __LINE__ + 1;
  routes.get("/slow", handler_is_slow);
  routes.get("/quick", handler_is_quick);
  routes.get("/slow-later", handler_is_slow_after_a_wait);
  lambda_line = __LINE__ + 1;
  routes.get("/slow-lambda", [](http::request&) -> task<http::response> {
    work_for(60ms);
    co_return http::response(200);
  });
  return routes;
}

using texts = std::vector<std::string>;

/// Runs a client against the routes; what the runtime reported.
template <class Client>
texts reports_of(Client client, http::server_options options = {}, nanoseconds slow = {}) {
  texts found;
  runtime_options how;
  how.slow_handler = slow;
  how.report = [&found](const diagnostic& d) { found.push_back(to_string(d)); };
  runtime rt(how);
  rt.run([](Client c, http::server_options o) -> task<> {
    co_await with_server(failing_routes(), std::move(o),
                         [&c](address at, http::server&) { return c(at); });
  }(std::move(client), std::move(options)));
  return found;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}
std::string test_line(unsigned line) {
  return "failed_handler_test.cc:" + std::to_string(line) + "\n";
}

task<> expects_500(address at) { EXPECT_EQ(status_of(co_await ask(at, "GET /breaks")), "500"); }

}  // namespace

HEDDLE_TEST(failed_handler, "its exception is reported with request, text, handler and lines") {
  const texts found = reports_of(&expects_500);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(has(found[0], "heddle: failed-handler: ")) << found[0];
  EXPECT_TRUE(has(found[0], "GET /breaks, handler ")) << found[0];
  EXPECT_TRUE(has(found[0], "): the table notes does not exist\n")) << found[0];
  EXPECT_TRUE(has(found[0], "handler_breaks(")) << found[0];
  EXPECT_TRUE(has(found[0], "handler given at ")) << found[0];
  EXPECT_TRUE(has(found[0], test_line(breaks_line))) << found[0];
}

HEDDLE_TEST(failed_handler, "one that never waited is named by its function and route") {
  const texts found = reports_of(
      [](address at) -> task<> { EXPECT_EQ(status_of(co_await ask(at, "GET /at-once")), "500"); });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(has(found[0], "): no such table\n")) << found[0];
  EXPECT_TRUE(has(found[0], "handler_breaks_at_once(")) << found[0];
  EXPECT_TRUE(has(found[0], test_line(breaks_line + 1))) << found[0];
}

HEDDLE_TEST(failed_handler, "a hook gets the request and the exception instead") {
  std::vector<std::string> heard;
  http::server_options options;
  options.failed = [&heard](const http::request_head& head, const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& e) {
      heard.push_back(std::string(head.path()) + " " + e.what());
    }
    EXPECT_FALSE(exception_lines(error).empty());
  };
  EXPECT_TRUE(reports_of(&expects_500, options).empty());
  ASSERT_EQ(heard.size(), 1u);
  EXPECT_EQ(heard[0], "/breaks the table notes does not exist");
}

HEDDLE_TEST(failed_handler, "a hook that throws does not hide the exception") {
  http::server_options options;
  options.failed = [](const http::request_head&, const std::exception_ptr&) {
    throw std::logic_error("of the hook");
  };
  const texts found = reports_of(&expects_500, options);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(has(found[0], "the table notes does not exist")) << found[0];
}

HEDDLE_TEST(failed_handler, "answers, refused bodies and lost clients are no failures") {
  const texts found = reports_of([](address at) -> task<> {
    EXPECT_EQ(status_of(co_await ask(at, "GET /refuses")), "404");
    EXPECT_EQ(status_of(co_await ask(at, "GET /nothing")), "404");
    EXPECT_EQ(status_of(co_await ask(at, "POST /reads", "Transfer-Encoding: chunked\r\n",
                                     "no number\r\n")),
              "400");
    {
      stream half = co_await connect_to(at);
      co_await half.write("POST /reads HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nha");
    }
    stream endless = co_await connect_to(at);
    co_await endless.write("GET /never-ends HTTP/1.1\r\nHost: x\r\n\r\n");
    static_cast<void>(co_await read_until(endless, "xxx"));
    endless.close();
  });
  EXPECT_TRUE(found.empty()) << found[0];
}

HEDDLE_TEST(slow_handler, "the report names the handler's function and the line of its route") {
  const texts found =
      reports_of([](address at) -> task<> { co_await ask(at, "GET /slow"); }, {}, 30ms);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(has(found[0], "heddle: slow-handler: ")) << found[0];
  EXPECT_TRUE(has(found[0], "handler_is_slow(")) << found[0];
  EXPECT_TRUE(has(found[0], test_line(slow_line))) << found[0];
}

HEDDLE_TEST(slow_handler, "the slow one of several pipelined requests is named") {
  const texts found = reports_of(
      [](address at) -> task<> {
        co_await talk(at,
                      "GET /quick HTTP/1.1\r\nHost: x\r\n\r\nGET /slow HTTP/1.1\r\nHost: x\r\n\r\n"
                      "GET /quick HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      },
      {}, 30ms);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(has(found[0], "handler_is_slow(")) << found[0];
}

HEDDLE_TEST(slow_handler, "a lambda is named by the function around it and its route's line") {
  const texts found =
      reports_of([](address at) -> task<> { co_await ask(at, "GET /slow-lambda"); }, {}, 30ms);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(has(found[0], "failing_routes()")) << found[0];
  EXPECT_TRUE(has(found[0], test_line(lambda_line))) << found[0];
}

HEDDLE_TEST(slow_handler, "a handler that waited before is named by the line of its wait") {
  const texts found =
      reports_of([](address at) -> task<> { co_await ask(at, "GET /slow-later"); }, {}, 30ms);
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(has(found[0], "handler_is_slow_after_a_wait")) << found[0];
}

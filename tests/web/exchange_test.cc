// SPDX-License-Identifier: MIT
// The rules of an answer that do not depend on its framing: HTTP/1.1 and HTTP/2 decide them alike.
#include <string>
#include <vector>

#include "web/http2_client.hh"

using namespace heddle;
using namespace heddle::test;

namespace {

std::vector<std::string> write_errors;

task<http::response> break_a_rule(http::request& r) {
  if (r.path() == "/field") co_return http::response(200).header("bad name", "x").text("secret");
  if (r.path() == "/status") co_return http::response(103);
  http::body_writer out = co_await r.start(http::response(200).length(4));
  co_await out.write("12");
  const auto more = co_await as_expected(out.write("345"));
  write_errors.push_back(more ? "none" : more.error().message());
  co_return out.done();
}

/// "/field 500 35" for each answer.
http::server_options logging_to(std::vector<std::string>& lines) {
  http::server_options options;
  options.log = [&lines](const http::access& a) {
    lines.push_back(std::string(a.head->path()) + " " + std::to_string(a.status) +
                    (a.status == 200 ? " " + std::to_string(a.bytes) : ""));
  };
  return options;
}

const std::vector<std::string> lines_due = {"/field 500", "/status 500", "/more 200 2"};

}  // namespace

DRIVER_TEST(exchange, "an answer that must not be sent is an error, over HTTP/1.1 and HTTP/2") {
  runtime rt(make());
  static std::vector<std::string> lines;
  for (const bool second : {false, true}) {
    lines.clear();
    write_errors.clear();
    const auto ask_all = [](address at, http::server& web, bool by_http2) -> task<> {
      if (by_http2) {
        http2_client c(co_await connect_to(at));
        c.get(1, "/field");
        EXPECT_TRUE((co_await c.until("DATA 1")).contains(":status=500"));
        c.get(3, "/status");
        EXPECT_TRUE((co_await c.until("DATA 3")).contains(":status=500"));
        c.get(5, "/more");
        EXPECT_TRUE((co_await c.until("RST_STREAM 5")).contains("DATA 5 2\n"));
        EXPECT_FALSE(c.body.contains("secret"));
      } else {
        const std::string field = co_await ask(at, "GET /field");
        EXPECT_EQ(status_of(field), "500");
        EXPECT_FALSE(field.contains("secret")) << field;
        EXPECT_EQ(status_of(co_await ask(at, "GET /status")), "500");
        EXPECT_EQ(body_of(co_await ask(at, "GET /more")), "12");
      }
      EXPECT_EQ(web.counters().errors, 3u);
    };
    rt.run(with_server(break_a_rule, logging_to(lines),
                       [ask_all, second](address at, http::server& web) -> task<> {
                         return ask_all(at, web, second);
                       }));
    EXPECT_EQ(lines, lines_due) << (second ? "HTTP/2" : "HTTP/1.1");
    EXPECT_EQ(write_errors.size(), 1u);
    EXPECT_EQ(write_errors.front(), std::make_error_code(std::errc::message_size).message());
  }
}

// SPDX-License-Identifier: MIT
// Overload, as a client sees it: refusals, exceptions from them, and connections that wait.
#include "web/crowd.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

/// More than can be done, for a while: three times as much. The server is slow, so that there are
/// few requests to play.
constexpr nanoseconds cost = 1ms;
constexpr crowd too_many{.rate = 3000, .span = 1500ms, .connections = 500};

/// One request of a client that reads its answer before it asks again.
task<std::string> once(stream conn, std::string line, std::string more) {
  co_await conn.write(line + " HTTP/1.1\r\nHost: x\r\n" + more);
  co_return co_await read_until(conn, "\r\n\r\n");
}

constexpr std::string_view never_refused = "never refused";

/// The same until it is refused: among so many that takes a few times.
task<std::string> until_refused(stream conn, std::string line, std::string more) {
  for (int i = 0; i < 50; ++i) {
    std::string answer = co_await once(conn, line, more);
    if (status_of(answer) != "200") co_return answer;
  }
  co_return std::string(never_refused);
}

}  // namespace

HEDDLE_TEST(overload_refusal, "it says when to come again, and the connection goes on") {
  HEDDLE_NEEDS_SOCKET();
  http::server_options options = impatient();
  options.overload.retry_after = 7s;
  options.overload.headers = {{"X-House", "heddle"}, {"X-Two", "2"}};
  const auto beside = [](address at, http::server& web) -> task<> {
    stream conn = co_await connect_to(at);
    const std::string first = co_await until_refused(conn, "GET /a", "\r\n");
    EXPECT_EQ(status_of(first), "503") << first;
    EXPECT_EQ(field_of(first, "Retry-After"), "7");
    EXPECT_EQ(field_of(first, "Connection"), "");
    EXPECT_EQ(field_of(first, "X-House"), "heddle");
    EXPECT_EQ(field_of(first, "X-Two"), "2");
    EXPECT_THROW(web.change_refusals({{"X-Ok", "1"}, {"no name", "1"}}), failure);
    web.change_refusals({{"X-House", "another"}});
    EXPECT_TRUE(body_of(first).starts_with("503 the server")) << first;
    EXPECT_EQ(field_of(first, "Content-Length"), std::to_string(body_of(first).size()));
    // What a refused request brought is read, so that the next is found.
    const std::string body = "Content-Length: 30000\r\n\r\n" + std::string(30'000, 'b');
    EXPECT_EQ(status_of(co_await until_refused(conn, "POST /b", body)), "503");
    const std::string head = co_await until_refused(conn, "HEAD /c", "\r\n");
    EXPECT_EQ(field_of(head, "X-House"), "another");
    EXPECT_EQ(field_of(head, "X-Two"), "");
    EXPECT_EQ(field_of(head, "X-Ok"), "");
    EXPECT_EQ(status_of(head), "503");
    EXPECT_EQ(body_of(head), "");
    const std::string next = co_await once(conn, "GET /d", "\r\n");
    EXPECT_EQ(next.find("HTTP/1.1 "), 0u) << next;
    EXPECT_EQ(web.counters().errors, 0u);
  };
  play(too_many, cost, options).run(beside);
}

HEDDLE_TEST(overload_refusal, "it ends the connection where the options say so") {
  HEDDLE_NEEDS_SOCKET();
  http::server_options options = impatient();
  options.overload.close = true;
  bool refused = false;
  const auto beside = [&refused](address at, http::server&) -> task<> {
    stream conn = co_await connect_to(at);
    const std::string answer = co_await until_refused(conn, "GET /a", "\r\n");
    if (answer == never_refused) co_return;
    refused = status_of(answer) == "503" && field_of(answer, "Connection") == "close";
    EXPECT_TRUE(refused) << answer;
    EXPECT_FALSE(co_await conn.receive());
  };
  // The crowd is refused and goes, so the overload is short: some of the orders meet it.
  crowd who = too_many;
  for (; !refused && who.seed <= 8; ++who.seed) play(who, cost, options).run(beside);
  EXPECT_TRUE(refused);
}

HEDDLE_TEST(overload_refusal, "an exempt request is answered while others are refused") {
  HEDDLE_NEEDS_SOCKET();
  http::server_options options = impatient();
  options.overload.exempt = [](const http::request_head& h) { return h.path() == "/health"; };
  const auto beside = [](address at, http::server&) -> task<> {
    stream conn = co_await connect_to(at);
    EXPECT_EQ(status_of(co_await until_refused(conn, "GET /other", "\r\n")), "503");
    for (int i = 0; i < 50; ++i)
      EXPECT_EQ(status_of(co_await once(conn, "GET /health", "\r\n")), "200");
  };
  play(too_many, cost, options).run(beside);
}

HEDDLE_TEST(overload_refusal, "new connections wait while it is overloaded, but not for long") {
  HEDDLE_NEEDS_TCP();  // the simulated network takes other times for a Unix socket
  http::server_options options = impatient();
  options.overload.accept_hold_max = 50ms;
  const auto beside = [](address at, http::server& web) -> task<> {
    for (int i = 0; i < 5; ++i) {
      const time_point began = clock::now();
      stream conn = co_await connect_to(at);
      EXPECT_NE(status_of(co_await once(conn, "GET /a", "\r\n")), "<closed>");
      EXPECT_LE(clock::now() - began, 50ms + 50ms);  // and a while in the queue
      co_await sleep_for(20ms);
    }
    EXPECT_GE(web.counters().accept_holds, 1u);
    EXPECT_EQ(web.counters().overloaded, 1u);
  };
  play(too_many, cost, options).run(beside);
}

HEDDLE_TEST(overload_refusal, "it ends when the load is small again") {
  HEDDLE_NEEDS_SIM_LINKS();
  const auto beside = [](address at, http::server& web) -> task<> {
    EXPECT_EQ(web.counters().overloaded, 1u);
    stream conn = co_await connect_to(at);
    const time_point end = clock::now() + 2500ms;  // the crowd goes before that
    while (clock::now() < end) {
      static_cast<void>(co_await once(conn, "GET /a", "\r\n"));
      co_await sleep_for(5ms);
    }
    EXPECT_EQ(web.counters().overloaded, 0u);
    EXPECT_EQ(web.counters().overloads, 1u);
  };
  play(too_many, cost).run(beside);
}

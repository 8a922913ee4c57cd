// SPDX-License-Identifier: MIT
// What the server does about clients that are slow, greedy or many: each limit of server_options
// and its counter. Time is the simulation's.
#include <sys/resource.h>
#include <unistd.h>

#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

task<http::response> answer_any(http::request& r) {
  if (r.path() == "/size")
    co_return http::response(200).text(std::to_string((co_await r.text()).size()));
  if (r.path() == "/wait") co_await sleep_for(1s);
  std::string said;
  if (r.path() == "/again") {
    const std::string_view name = r.header("x-name");
    const std::string body = co_await r.text();
    said = std::string(name) + "=" + body + ";";  // the view has to have lived
    co_return http::response(200).text(said);
  }
  co_return http::response(200).text("ok\n");
}

void run_simulated(http::server_options options, std::function<task<>(address, http::server&)> body,
                   sim_options world = {}) {
  runtime rt(std::make_unique<sim_driver>(std::move(world)));
  rt.run(with_server(answer_any, std::move(options), std::move(body)));
}

std::string body_of_bytes(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 26);
  return text;
}

/// Sends text a byte at a time with a pause before each, until the server answers or closes.
task<std::string> trickle(address at, std::string text, nanoseconds pause) {
  stream conn = co_await connect_to(at);
  for (const char c : text) {
    auto in = co_await as_expected(with_timeout(conn.receive(), pause));
    if (in) {  // the answer, or its first bytes
      std::string answer(in->text());
      if (!answer.contains("\r\n\r\n")) answer += co_await read_until(conn, "\r\n\r\n");
      co_return answer;
    }
    const auto sent = co_await as_expected(conn.write(std::string_view(&c, 1)));
    if (!sent) co_return "<broken>";
  }
  co_return co_await read_until(conn, "\r\n\r\n");
}

}  // namespace

HEDDLE_TEST(protection, "a head that comes byte by byte has one time limit for all of it") {
  HEDDLE_NEEDS_SOCKET();
  run_simulated({}, [](address at, http::server& web) -> task<> {
    const time_point began = clock::now();
    const std::string slow =
        co_await trickle(at, "GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + std::string(200, 'x'), 1s);
    EXPECT_EQ(status_of(slow), "408");
    EXPECT_LT(clock::now() - began, 14s);
    EXPECT_EQ(web.counters().header_timeouts, 1u);
  });
}

HEDDLE_TEST(protection, "a body has to come at a least rate, and a pause in it ends sometime") {
  run_simulated({}, [](address at, http::server& web) -> task<> {
    const std::string head = "POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n";
    const std::string drip = co_await trickle(at, head + std::string(100'000, 'b'), 50ms);
    EXPECT_EQ(status_of(drip), "408");
    EXPECT_EQ(web.counters().body_timeouts, 1u);
    const std::string silent = co_await talk(at, head + "some");
    EXPECT_EQ(status_of(silent), "408");
    EXPECT_EQ(web.counters().body_timeouts, 2u);
  });
}

HEDDLE_TEST(protection, "time in which the handler does not read is not the client's") {
  HEDDLE_NEEDS_SOCKET();
  runtime rt(std::make_unique<sim_driver>());
  const auto lazy = [](http::request& r) -> task<http::response> {
    std::size_t size = 0;
    for (std::string_view part = co_await r.read(); !part.empty(); part = co_await r.read()) {
      size += part.size();
      co_await sleep_for(40s);
    }
    co_return http::response(200).text(std::to_string(size));
  };
  rt.run(with_server(lazy, {}, [](address at, http::server&) -> task<> {
    stream conn = co_await connect_to(at);
    co_await conn.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n");
    co_await conn.write(std::string(20'000, 'b'));
    std::string all;
    while (all.find("20000") == std::string::npos) {
      received in = co_await with_timeout(conn.receive(), 600s);
      if (in.empty()) break;
      all += in.text();
    }
    EXPECT_EQ(status_of(all), "200") << all;
  }));
}

HEDDLE_TEST(protection, "an idle connection is closed, and one that answers is not") {
  run_simulated({}, [](address at, http::server& web) -> task<> {
    const time_point began = clock::now();
    EXPECT_EQ(co_await talk(at, ""), "<Connection timed out>");  // the test's own patience: 60 s
    EXPECT_LT(clock::now() - began, 61s);
    stream conn = co_await connect_to(at);
    co_await sleep_for(80s);
    EXPECT_EQ(web.counters().idle_timeouts, 1u);
    EXPECT_EQ(co_await read_all(conn), "");
  });
}

HEDDLE_TEST(protection,
            "draining closes idle connections at once, and busy ones when they are done") {
  run_simulated({}, [](address at, http::server& web) -> task<> {
    stream idle = co_await connect_to(at);
    co_await idle.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(status_of(co_await read_until(idle, "ok\n")), "200");
    stream busy = co_await connect_to(at);
    co_await busy.write("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    co_await sleep_for(10ms);
    const time_point began = clock::now();
    web.stop();
    EXPECT_EQ(co_await read_all(idle), "");
    EXPECT_LT(clock::now() - began, 100ms);
    const std::string last = co_await read_all(busy);
    EXPECT_EQ(status_of(last), "200");
    EXPECT_EQ(field_of(last, "Connection"), "close");
    EXPECT_EQ(web.counters().idle_timeouts, 0u);
  });
}

HEDDLE_TEST(protection, "one address cannot take all the connections") {
  HEDDLE_NEEDS_TCP();
  http::server_options options;
  options.connections_per_address_max = 2;
  run_simulated(options, [](address at, http::server& web) -> task<> {
    stream first = co_await connect_to(at);
    stream second = co_await connect_to(at);
    EXPECT_EQ(co_await talk(at, ""), "");
    EXPECT_EQ(web.counters().refused_connections, 1u);
    second.close();
    co_await sleep_for(10ms);
    EXPECT_EQ(status_of(co_await ask(at, "GET /")), "200");
    EXPECT_EQ(web.counters().refused_connections, 1u);
  });
}

HEDDLE_TEST(protection, "by default an address has three quarters of the connections") {
  HEDDLE_NEEDS_TCP();
  http::server_options options;
  options.connections_max = 8;
  run_simulated(options, [](address at, http::server& web) -> task<> {
    std::vector<stream> many;
    for (int i = 0; i < 6; ++i) many.push_back(co_await connect_to(at));
    EXPECT_EQ(co_await talk(at, ""), "");
    EXPECT_EQ(web.counters().refused_connections, 1u);
    EXPECT_EQ(web.counters().open, 6u);
  });
}

HEDDLE_TEST(protection, "connections beyond the limit wait until one ends") {
  http::server_options options;
  options.connections_max = 1;
  run_simulated(options, [](address at, http::server& web) -> task<> {
    stream first = co_await connect_to(at);
    co_await sleep_for(1ms);
    scope s;
    std::string answer;
    s.spawn([](address to, std::string& out) -> task<> { out = co_await ask(to, "GET /"); }, at,
            std::ref(answer));
    co_await sleep_for(1s);
    EXPECT_EQ(answer, "");
    first.close();
    co_await s.join();
    EXPECT_EQ(status_of(answer), "200");
    EXPECT_EQ(web.counters().full_waits, 2u);
  });
}

HEDDLE_TEST(protection, "a long pipeline is answered in turns, and in order") {
  http::server_options options;
  options.pipeline_max = 4;
  run_simulated(options, [](address at, http::server& web) -> task<> {
    std::string many;
    for (int i = 0; i < 20; ++i) many += "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    const std::string all =
        co_await talk(at, many + "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(count_of(all, "200 OK"), 21u);
    EXPECT_GE(web.counters().pipeline_pauses, 4u);
  });
}

HEDDLE_TEST(protection, "each answer of a pipeline is timed, and of one that is cut off") {
  run_simulated({}, [](address at, http::server& web) -> task<> {
    std::string many;
    for (int i = 0; i < 40; ++i) many += "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    EXPECT_EQ(count_of(co_await talk(at, many + "GET / HTTP/1.1\r\nHost: x\r\n"), "200 OK"), 40u);
    EXPECT_EQ(web.counters().requests, 41u);  // the last one is refused: too late
    EXPECT_EQ(web.counters().latency_ns.count(), 41u);
    EXPECT_EQ(count_of(co_await talk(at, many + "nonsense\r\n\r\n"), "200 OK"), 40u);
    EXPECT_EQ(web.counters().requests, 82u);
    EXPECT_EQ(web.counters().latency_ns.count(), 82u);
  });
}

HEDDLE_TEST(protection, "requests in progress do not keep the driver's blocks from the others") {
  HEDDLE_NEEDS_SOCKET();
  http::server_options options;
  options.blocks_max = 2;
  sim_options world;
  world.limits.block_count = 4;
  run_simulated(
      options,
      [](address at, http::server& web) -> task<> {
        std::vector<stream> slow;
        for (int i = 0; i < 20; ++i) {
          slow.push_back(co_await connect_to(at));
          co_await slow.back().write("POST /again HTTP/1.1\r\nHost: x\r\nX-Name: client" +
                                     std::to_string(i) + "\r\nContent-Length: 4\r\n\r\nab");
        }
        co_await sleep_for(10ms);
        EXPECT_EQ(status_of(co_await ask(at, "GET /")), "200");
        for (int i = 0; i < 20; ++i) {
          co_await slow[static_cast<std::size_t>(i)].write("cd");
          const std::string all = co_await read_until(slow[static_cast<std::size_t>(i)], ";");
          EXPECT_TRUE(all.ends_with("client" + std::to_string(i) + "=abcd;")) << all;
        }
        EXPECT_GE(web.counters().block_copies, 18u);
      },
      world);
}

HEDDLE_TEST(protection, "heads and bodies keep their places wherever a pipeline of them is cut") {
  // Bodies of several cuts, so that a block that was given back is used again before the end.
  const std::string body = body_of_bytes(400);
  std::string text;
  for (int i = 0; i < 4; ++i)
    text += "POST /again HTTP/1.1\r\nHost: x\r\nX-Name: n" + std::to_string(i) +
            "\r\nTransfer-Encoding: chunked\r\n\r\n190\r\n" + body + "\r\n0\r\n\r\n" +
            "POST /again HTTP/1.1\r\nHost: x\r\nX-Name: m" + std::to_string(i) +
            "\r\nContent-Length: 400\r\n\r\n" + body;
  text += "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  for (const std::size_t blocks : {0u, 1u, 100u}) {
    http::server_options options;
    options.blocks_max = blocks;
    sim_options world;
    world.limits.block_count = 4;  // so that one that was given back too early is soon overwritten
    const auto cut = [&text, &body](address at, http::server&) -> task<> {
      for (std::size_t step = 1; step < text.size(); step += step < 40 ? 1 : 37) {
        stream conn = co_await connect_to(at);
        for (std::size_t from = 0; from < text.size(); from += step) {
          co_await conn.write(std::string_view(text).substr(from, step));
          co_await sleep_for(1ms);
        }
        const std::string all = co_await read_all(conn);
        EXPECT_EQ(count_of(all, "200 OK"), 9u) << step;
        for (int i = 0; i < 4; ++i) {
          EXPECT_EQ(count_of(all, "n" + std::to_string(i) + "=" + body + ";"), 1u) << step << all;
          EXPECT_EQ(count_of(all, "m" + std::to_string(i) + "=" + body + ";"), 1u) << step << all;
        }
      }
    };
    run_simulated(options, cut, world);
  }
}

DRIVER_TEST(protection, "a client that is refused in the middle of its body reads why") {
  runtime rt(make());
  http::server_options options;
  options.bounds.body_bytes_max = 1000;
  rt.run(with_server(answer_any, options, [](address at, http::server& web) -> task<> {
    const std::string too_large =
        co_await talk(at, "POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" +
                              std::string(200'000, 'b'));
    EXPECT_EQ(status_of(too_large), "413") << too_large.substr(0, 200);
    EXPECT_EQ(too_large.find('<'), too_large.npos) << too_large;  // no reset behind it
    EXPECT_EQ(field_of(too_large, "Connection"), "close");
    const std::string chunks = co_await talk(
        at, "POST /size HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n" +
                std::string(0x1388, 'b') + "\r\n0\r\n\r\n");
    EXPECT_EQ(status_of(chunks), "413") << chunks;
    EXPECT_EQ(web.counters().bodies_too_large, 2u);
    const std::string nonsense = co_await talk(at, "NONSENSE\r\n\r\n" + std::string(50'000, 'x'));
    EXPECT_EQ(status_of(nonsense), "400") << nonsense;
    EXPECT_EQ(nonsense.find('<'), nonsense.npos) << nonsense;
    EXPECT_EQ(web.counters().bad_heads, 1u);
    EXPECT_EQ(status_of(co_await talk(at, "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n")),
              "414");
    EXPECT_EQ(web.counters().uris_too_long, 1u);
    EXPECT_EQ(status_of(co_await talk(at, "GET / HTTP/1.1\r\nA: " + std::string(17000, 'a'))),
              "431");
    EXPECT_EQ(web.counters().heads_too_large, 1u);
  }));
}

DRIVER_TEST(protection, "100 Continue comes when the handler reads, and not when it refuses") {
  runtime rt(make());
  rt.run(with_server(answer_any, {}, [](address at, http::server&) -> task<> {
    const std::string head = "Host: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
    stream conn = co_await connect_to(at);
    co_await conn.write("POST /size HTTP/1.1\r\n" + head);
    EXPECT_EQ(co_await read_until(conn, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
    co_await conn.write("body");
    EXPECT_EQ(status_of(co_await read_until(conn, "\r\n\r\n4")), "200");
    // The client is told at once, and that nothing more is read of it.
    const std::string refused = co_await talk(at, "POST / HTTP/1.1\r\n" + head);
    EXPECT_EQ(status_of(refused), "200");
    EXPECT_EQ(field_of(refused, "Connection"), "close");
    // One that did not wait is read all the same, and needs no 100.
    const std::string eager =
        co_await talk(at, "POST / HTTP/1.1\r\n" + head +
                              "bodyGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_EQ(count_of(eager, "200 OK"), 2u) << eager;
    EXPECT_EQ(count_of(eager, "100 Continue"), 0u) << eager;
  }));
}

DRIVER_TEST(protection, "running out of descriptors stops accepting for a moment only") {
  HEDDLE_NEEDS_SOCKET();
  if (!make.real()) GTEST_SKIP() << "the limit is the kernel's";
  runtime rt(make());
  rt.run(with_server(answer_any, {}, [](address at, http::server& web) -> task<> {
    const int lowest_free = ::dup(0);
    ::close(lowest_free);
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(lowest_free) + 1;
    ::setrlimit(RLIMIT_NOFILE, &few);  // one for the client, none for the server
    stream client = co_await connect_to(at);
    co_await client.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    co_await sleep_for(10ms);
    ::setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_EQ(status_of(co_await read_all(client)), "200");
    EXPECT_GE(web.counters().accept_pauses, 1u);
  }));
}

namespace {

/// Requests whose bodies do not come, more than may hold blocks, and an honest one.
/// Servers that share a driver may find it short of blocks before.
task<> half_asked(address at, http::server& web, std::size_t held_max, bool alone) {
  std::vector<stream> slow;
  for (std::size_t i = 0; i != held_max + 8; ++i) {
    slow.push_back(co_await connect_to(at));
    co_await slow.back().write("POST /again HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab");
  }
  for (int i = 0; i < 500 && web.counters().block_copies < 8; ++i) co_await sleep_for(10ms);
  co_await sleep_for(10ms);  // for one too many
  EXPECT_GE(web.counters().block_copies, 8u);
  if (alone) EXPECT_EQ(web.counters().block_copies, 8u);
  EXPECT_EQ(status_of(co_await ask(at, "GET /")), "200");
  EXPECT_GE(web.counters().block_copies, 9u);
  for (stream& each : slow) {
    co_await each.write("cd");
    EXPECT_EQ(status_of(co_await read_until(each, ";")), "200");
  }
}

}  // namespace

DRIVER_TEST(protection, "by default requests in progress hold a quarter of the driver's blocks") {
  HEDDLE_NEEDS_SOCKET();
  runtime rt(make({.block_count = 64}), one_worker());
  rt.run(with_server(answer_any, {},
                     [](address at, http::server& web) { return half_asked(at, web, 16, true); }));
}

HEDDLE_TEST(protection, "servers on several workers hold a quarter of the blocks of one, each") {
  if (transport() == "user") GTEST_SKIP() << "its wire belongs to one color";
  runtime_options options;
  options.workers = 4;
  options.io.block_count = 64;
  runtime rt(options);
  const auto shard = []() -> task<> {
    return with_server(answer_any, {}, [](address at, http::server& web) {
      return half_asked(at, web, 16, false);
    });
  };
  rt.run([](std::function<task<>()> one) -> task<> {
    scope all;
    for (int i = 1; i != 5; ++i) all.spawn(color(i), one());
    co_await all.join();
  }(shard));
}

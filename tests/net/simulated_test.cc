// SPDX-License-Identifier: MIT
// Streams and listeners over TCP in the program, on every driver: bytes, ends, failures, limits.
#include "heddle/net/simulated.hh"

#include "heddle/heddle.hh"
#include "heddle/sync/condition.hh"
#include "support/drivers.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

std::string numbered(std::size_t bytes) {
  std::string text(bytes, '\0');
  std::uint32_t x = 12345;
  for (char& c : text) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  return text;
}

task<std::string> read_all_of(stream s) {
  std::string all;
  while (received in = co_await s.receive()) all += in.text();
  co_return all;
}

task<> echo(listener door) {
  stream s = co_await door.accept();
  while (received in = co_await s.receive()) co_await s.write(in.data());
  s.close();
}

/// The text comes back, although the wire is as `options` say.
task<> carries(net::simulated_options options, std::size_t bytes) {
  net::simulated both(options);
  auto [door, at] = both.server().listen(address::any(80));
  scope side;
  side.spawn(echo(door));
  stream s = co_await both.client().connect(at);
  EXPECT_EQ(s.peer(), at);
  const std::string sent = numbered(bytes);
  side.spawn([](stream to, std::string text) -> task<> {
    co_await to.write(std::move(text));
    to.shutdown_write();
  }(s, sent));
  EXPECT_EQ(co_await read_all_of(s), sent);
  co_await side.join();
  s.close();
  co_await with_timeout(both.client().settled(), 200s);
}

DRIVER_TEST(net_simulated, "bytes come back over TCP in the program") {
  runtime rt(make());
  rt.run(carries({}, 300'000));
}

DRIVER_TEST(net_simulated, "bytes come back over a wire that loses, doubles and delays packets") {
  runtime rt(make());
  rt.run(carries(
      {.wire =
           {.delay_us = 500, .jitter_us = 300, .loss = 0.01, .duplicate = 0.01, .corrupt = 0.005},
       .seed = 3,
       .client = {.timeout_min_us = 20'000, .time_wait_us = 1000},
       .server = {.timeout_min_us = 20'000, .time_wait_us = 1000}},
      300'000));
}

struct gate {
  bool open = false;
  condition opened;
};

/// Takes what it is sent only when the gate opens, and checks it.
task<> read_late(stream s, gate& g, std::size_t bytes) {
  while (!g.open) co_await g.opened.wait();
  const std::string got = co_await read_all_of(s);
  EXPECT_EQ(got, numbered(bytes));
}

DRIVER_TEST(net_simulated, "writers wait for the stack's memory, and go on when there is some") {
  runtime rt(make());
  rt.run([]() -> task<> {
    constexpr std::size_t bytes = 800'000;
    constexpr int readers = 6;
    net::simulated both({.client = {.time_wait_us = 1000},
                         .server = {.memory_bytes = 1'000'000, .time_wait_us = 1000}});
    auto [door, at] = both.server().listen(address::any(80));
    int done = 0;
    gate reading;
    scope side;
    for (int i = 0; i != readers; ++i) {
      stream reader = co_await both.client().connect(at);
      side.spawn(read_late(reader, reading, bytes));
      stream writer = co_await door.accept();
      side.spawn([](stream to, int& count) -> task<> {
        co_await to.write(numbered(bytes));
        ++count;
        to.shutdown_write();
      }(writer, done));
    }
    co_await sleep_for(300ms);
    const tcp::stack& server = *both.server().stack();
    EXPECT_LT(done, readers);
    EXPECT_LE(server.memory().used, 1'000'000u);
    EXPECT_GT(server.counters().refused(tcp::refusal::write), 0u);
    reading.open = true;
    reading.opened.notify_all();
    co_await with_timeout(side.join(), 60s);
    EXPECT_EQ(done, readers);
  });
}

DRIVER_TEST(net_simulated, "a dump has the state of each stack, and none after its end") {
  runtime rt(make());
  rt.run([]() -> task<> {
    {
      net::simulated both({.server = {.dump_connections_max = 1}});
      auto [door, at] = both.server().listen(address::any(80));
      stream first = co_await both.client().connect(at);
      stream second = co_await both.client().connect(at);
      stream of_first = co_await door.accept();
      stream of_second = co_await door.accept();
      const std::string text = runtime::here().dump();
      EXPECT_NE(text.find("tcp 10.9.0.2: 2 connections, 1 listen, 2 established"), text.npos)
          << text;
      EXPECT_NE(text.find("tcp 10.9.0.1: 2 connections"), text.npos) << text;
      EXPECT_NE(text.find("and 1 more connections"), text.npos) << text;
      const std::string json = runtime::here().dump_json();
      EXPECT_NE(json.find("\"possible_cycles\":[],\"tcp\":[{\"stack\":\"10.9.0.1\""), json.npos)
          << json;
      EXPECT_TRUE(json.ends_with("}]}")) << json;
      first.close();
      second.close();
      of_first.close();
      of_second.close();
    }
    for (int i = 0; i != 100 && runtime::here().dump().find("tcp ") != std::string::npos; ++i)
      co_await sleep_for(100ms);
    EXPECT_EQ(runtime::here().dump().find("tcp "), std::string::npos);
  });
}

DRIVER_TEST(net_simulated, "a port that nobody listens on refuses a connection") {
  runtime rt(make());
  rt.run([]() -> task<> {
    net::simulated both;
    const auto conn = co_await as_expected(both.client().connect(*address::parse("10.9.0.2:81")));
    EXPECT_FALSE(conn);
    EXPECT_EQ(conn.error(), std::errc::connection_refused);
  });
}

DRIVER_TEST(net_simulated, "a port is free again after its listener has closed") {
  runtime rt(make());
  rt.run([]() -> task<> {
    net::simulated both;
    auto [door, at] = both.server().listen(address::any(80));
    EXPECT_THROW(static_cast<void>(both.server().listen(address::any(80))), failure);
    door.close();
    auto [again, same] = both.server().listen(address::any(80));
    stream s = co_await both.client().connect(same);
    stream other = co_await again.accept();
    co_await s.write("x");
    EXPECT_EQ((co_await other.receive()).text(), "x");
  });
}

DRIVER_TEST(net_simulated, "reset_on_close() and close() reset the peer") {
  runtime rt(make());
  rt.run([]() -> task<> {
    net::simulated both;
    auto [door, at] = both.server().listen(address::any(80));
    stream s = co_await both.client().connect(at);
    stream other = co_await door.accept();
    other.reset_on_close();
    other.close();
    const auto in = co_await as_expected(s.receive());
    EXPECT_FALSE(in);
    EXPECT_EQ(in.error(), std::errc::connection_reset);
    const auto out = co_await as_expected(s.write("x"));
    EXPECT_EQ(out.error(), std::errc::connection_reset);
  });
}

DRIVER_TEST(net_simulated, "a writer waits while the peer does not read") {
  runtime rt(make());
  rt.run([]() -> task<> {
    net::simulated both(
        {.client = {.send_queue_bytes = 32 * 1024}, .server = {.receive_window_bytes = 16 * 1024}});
    auto [door, at] = both.server().listen(address::any(80));
    stream s = co_await both.client().connect(at);
    stream other = co_await door.accept();
    const std::string text = numbered(500'000);
    bool written = false;
    scope side;
    side.spawn([](stream to, const std::string& t, bool& done) -> task<> {
      co_await to.write(t);
      done = true;
      to.shutdown_write();
    }(s, text, written));
    co_await sleep_for(50ms);
    EXPECT_FALSE(written);
    EXPECT_EQ(co_await read_all_of(other), text);
    EXPECT_TRUE(written);
    co_await side.join();
  });
}

DRIVER_TEST(net_simulated, "a piece that keeps its bytes is referenced until it is acknowledged") {
  runtime rt(make());
  rt.run([]() -> task<> {
    struct counted {
      explicit counted(int* n) : alive(n), text(8192, 'b') { ++*alive; }
      counted(counted&& o) noexcept : alive(std::exchange(o.alive, nullptr)), text(o.text) {}
      counted& operator=(counted&&) = delete;
      ~counted() {
        if (alive != nullptr) --*alive;
      }
      [[nodiscard]] byte_view bytes() const noexcept { return text; }
      int* alive;
      std::string text;
    };
    net::simulated both({.wire = {.delay_us = 5000}});
    auto [door, at] = both.server().listen(address::any(80));
    stream s = co_await both.client().connect(at);
    stream other = co_await door.accept();
    int alive = 0;
    {
      const piece body = piece::held_by(counted(&alive));
      EXPECT_TRUE(other.try_write("head", body).complete(4 + body.size()));
    }
    EXPECT_EQ(alive, 1);
    std::string got;
    while (got.size() != 4 + 8192) got += (co_await s.receive()).text();
    co_await sleep_for(100ms);
    EXPECT_EQ(alive, 0);
  });
}

DRIVER_TEST(net_simulated, "a write that is cut short ends its connection") {
  runtime rt(make());
  rt.run([]() -> task<> {
    net::simulated both(
        {.client = {.send_queue_bytes = 8192}, .server = {.receive_window_bytes = 4096}});
    auto [door, at] = both.server().listen(address::any(80));
    stream s = co_await both.client().connect(at);
    stream other = co_await door.accept();
    const std::string text = numbered(100'000);
    const auto cut = co_await as_expected(with_timeout(s.write(text), 20ms));
    EXPECT_EQ(cut.error(), std::errc::timed_out);
    EXPECT_EQ((co_await as_expected(s.write("more"))).error(), std::errc::broken_pipe);
    std::string got;
    for (;;) {
      auto in = co_await as_expected(other.receive());
      if (!in || in->empty()) {
        EXPECT_FALSE(in);
        break;
      }
      got += in->text();
    }
    EXPECT_EQ(got, text.substr(0, got.size()));
  });
}

DRIVER_TEST(net_simulated, "a connection that waits in a listener that closes is reset") {
  runtime rt(make());
  rt.run([]() -> task<> {
    net::simulated both;
    auto [door, at] = both.server().listen(address::any(80));
    stream s = co_await both.client().connect(at);
    door.close();
    const auto in = co_await as_expected(s.receive());
    EXPECT_EQ(in.error(), std::errc::connection_reset);
  });
}

DRIVER_TEST(net_simulated, "a listener that closes while a connection opens resets it") {
  runtime rt(make());
  rt.run([]() -> task<> {
    net::simulated both({.wire = {.delay_us = 50'000}});
    auto [door, at] = both.server().listen(address::any(80));
    scope side;
    side.spawn([](listener d) -> task<> {
      co_await sleep_for(75ms);  // the SYN has come, and its ACK has not
      d.close();
    }(door));
    stream s = co_await both.client().connect(at);
    const auto in = co_await as_expected(s.receive());
    EXPECT_EQ(in.error(), std::errc::connection_reset);
    co_await side.join();
    auto [again, same] = both.server().listen(address::any(80));
    EXPECT_EQ(same, at);
  });
}

DRIVER_TEST(net_simulated, "version 6 addresses of sockets are no addresses of a version 4 stack") {
  runtime rt(make());
  rt.run([]() -> task<> {
    net::simulated both;
    const auto conn = co_await as_expected(both.client().connect(address::loopback_v6(80)));
    EXPECT_EQ(conn.error(), std::errc::invalid_argument);
  });
}

DRIVER_TEST(net_simulated,
            "a connection that was taken does not count for the backlog when it ends") {
  runtime rt(make());
  rt.run([]() -> task<> {
    net::simulated both({.server = {.time_wait_us = 1000}});
    auto [door, at] = both.server().listen(address::any(80), {.backlog = 2});
    stream first = co_await both.client().connect(at);
    stream taken = co_await door.accept();
    stream second = co_await both.client().connect(at);
    co_await sleep_for(5ms);
    taken.close();
    EXPECT_TRUE((co_await first.receive()).empty());
    first.close();
    co_await sleep_for(5ms);
    stream third = co_await both.client().connect(at);
    co_await sleep_for(5ms);
    const auto fourth = co_await as_expected(with_timeout(both.client().connect(at), 50ms));
    EXPECT_FALSE(fourth);
    EXPECT_EQ(both.server().stack()->counters().dropped(tcp::drop::backlog_full), 1u);
  });
}

DRIVER_TEST(net_simulated, "a filter limits the new connections of a second") {
  runtime rt(make());
  rt.run([]() -> task<> {
    struct limit {
      tcp::instant since = 0;
      int count = 0;
    } limit;
    net::simulated both;
    auto [door, at] = both.server().listen(address::any(80));
    both.server().stack()->set_filter(
        [](void* context, const tcp::segment& s, tcp::instant now) noexcept {
          if (!s.has(tcp::flag_syn)) return tcp::verdict::pass;
          auto& [since, count] = *static_cast<struct limit*>(context);
          if (now - since > 1'000'000) {
            since = now;
            count = 0;
          }
          return ++count > 3 ? tcp::verdict::reset : tcp::verdict::pass;
        },
        &limit);
    std::vector<stream> open;
    for (int i = 0; i != 3; ++i) open.push_back(co_await both.client().connect(at));
    const auto more = co_await as_expected(both.client().connect(at));
    EXPECT_EQ(more.error(), std::errc::connection_refused);
    EXPECT_EQ(both.server().stack()->counters().dropped(tcp::drop::filtered), 1u);
    co_await sleep_for(1100ms);
    open.push_back(co_await both.client().connect(at));
    both.server().stack()->set_filter(nullptr, nullptr);
  });
}

}  // namespace
}  // namespace heddle::test

// SPDX-License-Identifier: MIT
// Calls over connections, on every driver: results, refusals, order, limits, cancellation.
#include "rpc/harness.hh"

#include "heddle/rpc/port_mapper.hh"

namespace heddle::test {
namespace {

DRIVER_TEST(rpc, "a call brings its argument to the procedure and its result back") {
  runtime rt(make());
  rt.run(with_store([](running_store& r) -> task<> {
    tcp_stream conn1 = co_await r.connect();
    rpc::client c(std::move(conn1),
                  {.who = {.none = false, .machine = "here", .uid = 7, .gid = 8, .gids = {9, 10}}});
    co_await c.call<v1::NULL_>();
    store::STORE_V1_PUT_argument put;
    put.argument1 = "a";
    put.argument2.value.append_copy("one");
    EXPECT_EQ(co_await c.call<v1::PUT>(put), store::OK);
    const store::key a("a");
    const store::answer got = co_await c.call<v1::GET>(a);
    EXPECT_EQ(got.code, store::OK);
    EXPECT_EQ(got.value().to_string(), "one");
    EXPECT_EQ(r.service.last.who.uid, 7u);
    EXPECT_EQ(r.service.last.who.gids, (std::vector<std::uint32_t>{9, 10}));
    EXPECT_EQ(r.service.last.who.machine, "here");
    EXPECT_TRUE(r.service.last.peer.is_loopback());
    const store::key b("b");
    const store::answer none = co_await c.call<v1::GET>(b);
    EXPECT_EQ(none.code, store::NO_SUCH_KEY);
    const store::entries all = co_await c.call<v1::ALL>();
    EXPECT_EQ(xdr::to_text(all), "[{name: \"a\", value: 0x6f6e65}]");
    const store::STORE_V3_SUM_argument two{2, 40};
    EXPECT_EQ(co_await c.call<v3::SUM>(two), 42);
    EXPECT_EQ(r.server.counters().refused, 0u);
  }));
}

DRIVER_TEST(rpc, "an argument that XDR cannot carry fails the call that is awaited, not others") {
  runtime rt(make());
  rt.run(with_store([](running_store& r) -> task<> {
    rpc::client c(co_await r.connect());
    const store::key long_key(std::string(33, 'k'));
    task<store::answer> call = c.call<v1::GET>(long_key);
    const result<store::answer> got = co_await as_expected(std::move(call));
    EXPECT_EQ(code_of(got), std::errc::invalid_argument);
    task<store::answer> again = c.call<v1::GET>(long_key);
    const std::string why = co_await error_of(std::move(again));
    EXPECT_TRUE(why.contains("GET: the argument cannot be sent: ")) << why;
    EXPECT_EQ(c.under_way(), 0u);
    EXPECT_EQ(r.server.counters().calls, 0u);
    const store::key longest(std::string(32, 'k'));
    const store::answer none = co_await c.call<v1::GET>(longest);
    EXPECT_EQ(none.code, store::NO_SUCH_KEY);
  }));
}

DRIVER_TEST(rpc, "the report of a procedure that throws speaks of procedures, and not of HTTP") {
  std::vector<std::string> reports;
  runtime_options options;
  options.report = [&](const diagnostic& d) { reports.push_back(to_string(d)); };
  runtime rt(make(), options);
  rt.run(with_store([](running_store& r) -> task<> {
    rpc::client c(co_await r.connect());
    const xdr::text<> why("no such table");
    task<> call = c.call<v1::FAIL>(why);
    EXPECT_NE(co_await error_of(std::move(call)), "");
  }));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_TRUE(reports[0].contains("FAIL: no such table")) << reports[0];
  EXPECT_TRUE(reports[0].contains("help: catch it in the procedure")) << reports[0];
  EXPECT_FALSE(reports[0].contains("http")) << reports[0];
}

DRIVER_TEST(rpc, "any value of a type from an .x file is the same behind a call") {
  runtime rt(make());
  rt.run(with_store([](running_store& r) -> task<> {
    rpc::client c(co_await r.connect());
    for (std::uint64_t seed = 0; seed != 40; ++seed) {
      const auto value = xdr::generate<store::everything>(seed);
      const store::everything back = co_await c.call<v1::SAME>(value);
      EXPECT_EQ(xdr::encode(back).to_string(), xdr::encode(value).to_string()) << "seed " << seed;
    }
  }));
}

task<> note_sleep(rpc::client& c, std::uint32_t ms, std::vector<std::uint32_t>& order) {
  order.push_back(co_await c.call<v1::SLEEP>(ms));
}

DRIVER_TEST(rpc, "replies arrive as their procedures end, not in the order of the calls") {
  runtime rt(make());
  rt.run(with_store([](running_store& r) -> task<> {
    rpc::client c(co_await r.connect());
    std::vector<std::uint32_t> order;
    scope s;
    for (const std::uint32_t ms : {120u, 60u, 1u}) s.spawn(note_sleep(c, ms, order));
    co_await s.join();
    EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 60, 120}));
  }));
}

struct other_program : v1::NULL_ {
  static constexpr std::uint32_t program = 99;
};
struct other_version : v1::NULL_ {
  static constexpr std::uint32_t version = 2;
};
struct other_number : v1::NULL_ {
  static constexpr std::uint32_t number = 99;
};
struct other_argument : v1::GET {
  using argument = std::uint64_t;
};
struct other_result : v1::GET {
  using result = std::uint64_t;
};

DRIVER_TEST(rpc, "a call that cannot be served gets the refusal of RFC 5531") {
  runtime_options quiet;
  std::vector<std::string> reports;
  quiet.report = [&](const diagnostic& d) { reports.push_back(d.object); };
  runtime rt(make(), quiet);
  rt.run(with_store([](running_store& r) -> task<> {
    rpc::client c(co_await r.connect());
    EXPECT_EQ(co_await error_of(c.call<other_program>()),
              "rpc: STORE_V1.NULL: the server does not have the program (PROG_UNAVAIL): "
              "the server does not have the program");
    EXPECT_NE((co_await error_of(c.call<other_version>())).find("versions 1 to 3"),
              std::string::npos);
    EXPECT_NE((co_await error_of(c.call<other_number>())).find("PROC_UNAVAIL"), std::string::npos);
    const std::uint64_t number = ~std::uint64_t{0};
    EXPECT_NE((co_await error_of(c.call<other_argument>(number))).find("GARBAGE_ARGS"),
              std::string::npos);
    const store::key none("none");
    EXPECT_NE((co_await error_of(c.call<other_result>(none))).find("the result cannot be read"),
              std::string::npos);
    const xdr::text<> why("broken");
    EXPECT_NE((co_await error_of(c.call<v1::FAIL>(why))).find("SYSTEM_ERR"), std::string::npos);
    co_await c.call<v1::NULL_>();
    EXPECT_EQ(r.server.counters().refused, 5u);
  }));
  EXPECT_EQ(reports, std::vector<std::string>{"STORE_V1.FAIL"});
}

DRIVER_TEST(rpc, "a cancelled or late call leaves the connection and other calls as they are") {
  runtime rt(make());
  rt.run(with_store([](running_store& r) -> task<> {
    rpc::client c(co_await r.connect());
    const auto late = co_await as_expected(with_timeout(c.call<v1::SLEEP>(50u), 5ms));
    EXPECT_EQ(code_of(late), std::errc::timed_out);
    EXPECT_EQ(c.under_way(), 0u);
    EXPECT_EQ(co_await c.call<v1::SLEEP>(100u), 100u);
    EXPECT_EQ(c.late_replies(), 1u);
    EXPECT_EQ(r.service.slept, 2);

    tcp_stream conn2 = co_await r.connect();
    rpc::client hasty(std::move(conn2), {.call_time = 5ms});
    const auto over = co_await as_expected(hasty.call<v1::SLEEP>(50u));
    EXPECT_EQ(code_of(over), std::errc::timed_out);
  }));
}

DRIVER_TEST(rpc, "a connection that ends fails all its calls, and those that come after") {
  runtime rt(make());
  rt.run([]() -> task<> {
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    const address at = door.local();
    rpc::client c(co_await tcp_connect(at));
    tcp_stream peer = co_await door.accept();
    std::vector<std::string> errors;
    scope s;
    for (int i = 0; i != 3; ++i)
      s.spawn([&]() -> task<> { errors.push_back(co_await error_of(c.call<v1::SLEEP>(1u))); });
    received in = co_await peer.receive();
    in.release();
    peer.close();
    co_await s.join();
    EXPECT_EQ(errors.size(), 3u);
    for (const std::string& e : errors) EXPECT_NE(e, "");
    EXPECT_FALSE(c.open());
    EXPECT_NE(co_await error_of(c.call<v1::NULL_>()), "");
    EXPECT_EQ(c.under_way(), 0u);
  }());
}

DRIVER_TEST(rpc, "a client that ends fails its calls under way with operation_canceled") {
  runtime rt(make());
  rt.run(with_store([](running_store& r) -> task<> {
    std::string error;
    scope s;
    {
      rpc::client c(co_await r.connect());
      s.spawn([&]() -> task<> { error = co_await error_of(c.call<v1::SLEEP>(10'000u)); });
      while (r.service.asleep == 0) co_await sleep_for(1ms);
    }
    co_await s.join();
    EXPECT_NE(error.find("canceled"), std::string::npos) << error;
    // The server ends the procedure when it sees the connection's end and its calls.
    r.server.stop();
  }));
}

DRIVER_TEST(rpc, "a connection has at most calls_max calls under way") {
  runtime rt(make());
  rt.run(with_store(
      [](running_store& r) -> task<> {
        rpc::client c(co_await r.connect());
        scope s;
        std::vector<std::uint32_t> order;
        for (int i = 0; i != 9; ++i) s.spawn(note_sleep(c, 2, order));
        co_await s.join();
        EXPECT_EQ(order.size(), 9u);
        EXPECT_EQ(r.service.most_asleep, 3);
      },
      {.calls_max = 3}));
}

DRIVER_TEST(rpc, "a reply whose size is known counts before it exists") {
  runtime rt(make());
  rt.run(with_store(
      [](running_store& r) -> task<> {
        const auto sleep = [&r](const rpc::call& from, std::uint32_t ms) {
          return r.service.sleep(from, ms);
        };
        const auto size = [](std::uint32_t) { return std::size_t{400'000}; };
        r.server.on<v1::SLEEP>(sleep, size);
        rpc::client c(co_await r.connect());
        scope s;
        std::vector<std::uint32_t> order;
        for (int i = 0; i != 9; ++i) s.spawn(note_sleep(c, 2, order));
        co_await s.join();
        EXPECT_EQ(order.size(), 9u);
        EXPECT_EQ(r.service.most_asleep, 3);  // after the third, 1.2 MB are expected
      },
      {.bytes_max = 1'000'000}));
}

task<> note_bytes(rpc::client& c, std::size_t size, std::size_t& sum) {
  store::opaque_data data;
  data.append(std::string(size, 'x'));
  const store::opaque_data back = co_await c.call<v1::BYTES>(data);
  EXPECT_EQ(back.to_string(), std::string(size, 'x'));
  sum += back.size();
}

DRIVER_TEST(rpc, "large calls go both ways at once, within bytes_max") {
  runtime rt(make());
  rt.run(with_store(
      [](running_store& r) -> task<> {
        tcp_stream conn3 = co_await r.connect();
        rpc::client c(std::move(conn3), {.bytes_max = 300'000});
        scope s;
        std::size_t sum = 0;
        for (std::size_t i = 0; i != 20; ++i) s.spawn(note_bytes(c, 200'000 + i, sum));
        co_await s.join();
        EXPECT_EQ(sum, 20u * 200'000 + 190);
      },
      {.bytes_max = 500'000}));
}

DRIVER_TEST(rpc, "a record longer than record_bytes_max ends its connection only") {
  runtime rt(make());
  rt.run(with_store(
      [](running_store& r) -> task<> {
        rpc::client c(co_await r.connect());
        rpc::client other(co_await r.connect());
        std::size_t sum = 0;
        co_await note_bytes(c, 900, sum);
        store::opaque_data data;
        data.append(std::string(2000, 'x'));
        EXPECT_NE(co_await error_of(c.call<v1::BYTES>(data)), "");
        EXPECT_FALSE(c.open());
        co_await other.call<v1::NULL_>();
        EXPECT_EQ(r.server.counters().broken, 1u);
      },
      {.record_bytes_max = 1000}));
}

DRIVER_TEST(rpc, "a connection beyond connections_max waits until another ends") {
  runtime rt(make());
  rt.run(with_store(
      [](running_store& r) -> task<> {
        rpc::client first(co_await r.connect());
        co_await first.call<v1::NULL_>();
        rpc::client second(co_await r.connect());
        const auto early = co_await as_expected(with_timeout(second.call<v1::NULL_>(), 50ms));
        EXPECT_EQ(code_of(early), std::errc::timed_out);
        first.close();
        co_await second.call<v1::NULL_>();
      },
      {.connections_max = 1}));
}

DRIVER_TEST(rpc, "an address has its share of the connections, and further ones are closed") {
  for (const rpc::server_options& o :
       {rpc::server_options{.connections_max = 4},
        rpc::server_options{.connections_max = 100, .connections_per_address_max = 3}}) {
    runtime rt(make());
    rt.run(with_store(
        [](running_store& r) -> task<> {
          std::vector<std::unique_ptr<rpc::client>> three;
          for (int i = 0; i < 3; ++i) {
            stream s = co_await r.connect();
            three.push_back(std::make_unique<rpc::client>(std::move(s)));
            co_await three.back()->call<v1::NULL_>();
          }
          {
            rpc::client fourth(co_await r.connect());
            const auto refused = co_await as_expected(fourth.call<v1::NULL_>());
            EXPECT_FALSE(refused);
          }
          EXPECT_EQ(r.server.counters().refused_connections, 1u);
          EXPECT_EQ(r.server.counters().connections, 3u);
          three.front()->close();
          while (r.server.counters().open == 3) co_await sleep_for(1ms);
          rpc::client later(co_await r.connect());
          co_await later.call<v1::NULL_>();
        },
        o));
  }
}

DRIVER_TEST(rpc, "a port mapper tells the ports of programs, and lists them") {
  runtime rt(make());
  rt.run([]() -> task<> {
    rpc::port_mapper mapper;
    mapper.set(v1::program, v1::version, 2049);
    mapper.set(v3::program, v3::version, 2050);
    mapper.set(v1::program, v1::version, 2051);
    rpc::server server;
    mapper.add_to(server);
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    const address at = door.local();
    scope s;
    s.spawn(server.serve(std::move(door)));
    {
      rpc::client c(co_await tcp_connect(at));
      EXPECT_EQ(co_await rpc::port_of(c, v1::program, v1::version), 2051);
      EXPECT_EQ(co_await rpc::port_of(c, v1::program, 9), 0);
      const std::vector<rpc::mapping> all = co_await rpc::all_mappings(c);
      EXPECT_EQ(all.size(), 2u);
      EXPECT_EQ(all.front().port, 2051u);
    }
    server.stop();
    co_await s.join();
  }());
}

}  // namespace
}  // namespace heddle::test

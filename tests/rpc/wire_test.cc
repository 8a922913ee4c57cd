// SPDX-License-Identifier: MIT
// The bytes of messages and records: fragments, refusals of versions and credentials, limits of
// time, and data that is no call.
#include "heddle/rpc/detail/message.hh"
#include "rpc/harness.hh"

namespace heddle::test {
namespace {

/// The numbers as they are on the wire. (No list: GCC 12 cannot make one beside a co_await.)
template <class... Numbers>
std::string big_endian(Numbers... numbers) {
  std::string all;
  for (const std::uint32_t n : {static_cast<std::uint32_t>(numbers)...})
    for (int shift = 24; shift >= 0; shift -= 8) all += static_cast<char>(n >> shift);
  return all;
}
std::string as_record(const std::string& message) {
  return big_endian(0x8000'0000u + static_cast<std::uint32_t>(message.size())) + message;
}
/// A call of SUM with AUTH_NONE.
std::string sum_call(std::uint32_t xid) {
  return big_endian(xid, 0, 2, v3::program, 3, 1, 0, 0, 0, 0, 20, 22);
}
const std::string sum_reply = as_record(big_endian(5, 1, 0, 0, 0, 0, 42));

/// What the server answers to these bytes, until it has nothing more to say.
task<std::string> answer_to(running_store& r, std::string sent) {
  tcp_stream conn = co_await r.connect();
  co_await conn.write(sent);
  conn.shutdown_write();
  std::string all;
  for (;;) {
    const auto in = co_await as_expected(conn.receive());
    if (!in || in->empty()) break;
    all += in->text();
  }
  co_return all;
}

DRIVER_TEST(rpc, "a record may come in fragments, and fragments in any pieces") {
  runtime rt(make());
  rt.run(with_store([](running_store& r) -> task<> {
    const std::string whole = sum_call(5);
    EXPECT_EQ(co_await answer_to(r, as_record(whole)), sum_reply);
    const std::string parts = big_endian(7) + whole.substr(0, 7) + big_endian(0) +
                              big_endian(0x8000'0000u + 41) + whole.substr(7);
    EXPECT_EQ(co_await answer_to(r, parts + as_record(whole)), sum_reply + sum_reply);
    tcp_stream slow = co_await r.connect();
    for (const char c : parts) co_await slow.write(std::string(1, c));
    std::string got(sum_reply.size(), '\0');
    co_await slow.read(got);
    EXPECT_EQ(got, sum_reply);
  }));
}

DRIVER_TEST(rpc, "other versions of RPC and bad credentials are refused as RFC 5531 says") {
  runtime rt(make());
  rt.run(with_store([](running_store& r) -> task<> {
    EXPECT_EQ(co_await answer_to(r, as_record(big_endian(5, 0, 3))),
              as_record(big_endian(5, 1, 1, 0, 2, 2)));
    // AUTH_DH, which the server does not know.
    EXPECT_EQ(co_await answer_to(
                  r, as_record(big_endian(5, 0, 2, v3::program, 3, 1, 3, 0, 0, 0, 20, 22))),
              as_record(big_endian(5, 1, 1, 1, 2)));
    // AUTH_SYS with 17 groups.
    std::string seventeen = big_endian(5, 0, 2, v3::program, 3, 1, 1, 88, 0, 0, 0, 0, 17);
    for (int i = 0; i != 17; ++i) seventeen += big_endian(1);
    EXPECT_EQ(co_await answer_to(r, as_record(seventeen + big_endian(0, 0, 20, 22))),
              as_record(big_endian(5, 1, 1, 1, 1)));
    EXPECT_EQ(r.server.counters().refused, 3u);
  }));
}

DRIVER_TEST(rpc, "data that is no call ends the connection without an answer") {
  runtime rt(make());
  rt.run(with_store([](running_store& r) -> task<> {
    const std::string bad[] = {
        as_record(""),
        as_record(big_endian(5, 1, 0, 0, 0, 0)),  // a reply
        as_record(big_endian(5, 0, 2, v3::program)),
        "GET / HTTP/1.1\r\n\r\n",
        big_endian(0xffff'ffff),
        as_record(sum_call(5)).substr(0, 20),
        as_record(big_endian(5, 0, 2, v3::program, 3, 1, 1, 0xffff'ffff)),
    };
    std::uint64_t broken = 0;
    for (const std::string& each : bad) {
      EXPECT_EQ(co_await answer_to(r, each), "");
      while (r.server.counters().open != 0) co_await sleep_for(1ms);
      EXPECT_EQ(r.server.counters().broken, ++broken) << each;
    }
  }));
}

HEDDLE_TEST(rpc, "a connection ends after `idle` without a call, and a record after record_time") {
  runtime rt(std::make_unique<sim_driver>(sim_options{.seed = 3}), {});
  rt.run(with_store([](running_store& r) -> task<> {
    tcp_stream quiet = co_await r.connect();
    const time_point start = clock::now();
    EXPECT_EQ((co_await quiet.receive()).size(), 0u);
    EXPECT_NEAR(std::chrono::duration<double>(clock::now() - start).count(), 360, 1);

    tcp_stream half = co_await r.connect();
    co_await half.write(as_record(sum_call(5)).substr(0, 30));
    const time_point begun = clock::now();
    while (const received more = co_await half.receive()) {
    }
    EXPECT_NEAR(std::chrono::duration<double>(clock::now() - begun).count(), 30, 1);

    // A connection with a call under way is not idle.
    tcp_stream conn1 = co_await r.connect();
    rpc::client busy(std::move(conn1), {.call_time = 1h});
    EXPECT_EQ(co_await busy.call<v1::SLEEP>(600'000u), 600'000u);
    co_await busy.call<v1::NULL_>();
  }));
}

HEDDLE_TEST(rpc, "a client that takes no replies loses its connection after send_time") {
  runtime rt(std::make_unique<sim_driver>(sim_options{.seed = 4}), {});
  rt.run(with_store(
      [](running_store& r) -> task<> {
        tcp_stream conn = co_await r.connect();
        store::opaque_data data;
        data.append(std::string(1'000'000, 'x'));
        xdr::writer w;
        rpc::detail::write_call(w, {1, 2, v1::program, 1, v1::BYTES::number}, {});
        w.write(data);
        const std::string one = as_record(w.take().to_string());
        const time_point start = clock::now();
        std::size_t count = 0;
        for (; count != 100; ++count)
          if (!co_await as_expected(with_timeout(conn.write(one), 10min))) break;
        // What was read before the limit, and no more.
        EXPECT_LT(count, 20u);
        EXPECT_LT(clock::now() - start, 2min);
        while (r.server.counters().open != 0) co_await sleep_for(1s);
        EXPECT_EQ(r.server.counters().broken, 1u);
      },
      {.bytes_max = 4'000'000}));
}

}  // namespace
}  // namespace heddle::test

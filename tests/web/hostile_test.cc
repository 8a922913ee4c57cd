// SPDX-License-Identifier: MIT
// Clients that mean harm, many at a time: slow heads, slow bodies, slow readers. What they make the
// server hold has a bound, each meets its limit, and others are answered meanwhile. Time is the
// simulation's.
#include "web/driver_call.hh"

#include <fcntl.h>
#include <linux/openat2.h>

#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t many = 200;
constexpr std::size_t file_bytes = 4'000'000;
constexpr std::size_t hostile_page_bytes = 20'000;  // more than a client's buffer takes unread

task<http::response> answer_hostile(http::request& r) {
  if (r.path() == "/file") {
    open_how how{};
    how.flags = O_RDONLY;
    const std::int64_t fd = co_await http::open_beneath(AT_FDCWD, "/large", how);
    co_return http::response(200).file(http::open_file(static_cast<int>(fd)), 0, file_bytes);
  }
  if (r.path() == "/page") co_return http::response(200).text(std::string(hostile_page_bytes, 'p'));
  if (r.path() == "/size")
    co_return http::response(200).text(std::to_string((co_await r.text()).size()));
  co_return http::response(200).text("ok\n");
}

/// Sends `first`, then `again` each time that `pause` has passed, and reads nothing.
task<> pester(address at, std::string first, std::string again, nanoseconds pause,
              cancel_source& enough) {
  stream conn = co_await connect_to(at);
  auto sent = co_await as_expected(conn.write(std::string_view(first)));
  while (sent) {
    const auto slept = co_await as_expected(with_cancel(enough, sleep_for(pause)));
    if (!slept) co_return;
    if (!again.empty()) sent = co_await as_expected(conn.write(std::string_view(again)));
  }
}

/// Long enough for write_timeout to end a connection: over TLS it may take twice that time, because
/// a part that the layer keeps counts as taken.
const nanoseconds slow_end = transport() == "tls" ? 80s : 40s;

/// What a crowd of one kind does to a server.
struct siege {
  std::string first;
  std::string again;
  nanoseconds pause;
  nanoseconds lasts;
  std::uint64_t http::server_counters::* meets;  // the limit that ends each
};

void hold_out(siege s, http::server_options options = {},
              std::function<void(const http::server&)> look = {}) {
  sim_options world;
  world.limits.block_count = 64;
  options.blocks_max = 16;
  world.socket_buffer_bytes = 16 * 1024;
  world.backlog_max = 2 * many;
  auto driver = std::make_unique<sim_driver>(std::move(world));
  driver->write_file("/large", std::string(file_bytes, 'f'));
  runtime rt(std::move(driver), one_worker());
  rt.run(with_server(answer_hostile, options, [&](address at, http::server& web) -> task<> {
    const auto hold = [](address to, http::server& server, const siege& how,
                         const std::function<void(const http::server&)>& see) -> task<> {
      cancel_source enough;
      scope crowd;
      for (std::size_t i = 0; i < many; ++i)
        crowd.spawn(pester(to, how.first, how.again, how.pause, enough));
      const time_point end = clock::now() + how.lasts;
      for (std::size_t asked = 0; clock::now() < end; ++asked) {
        co_await sleep_for(how.lasts / 20);
        const time_point began = clock::now();
        EXPECT_EQ(status_of(co_await ask(to, "GET /")), "200") << asked;
        EXPECT_LT(clock::now() - began, 1s) << asked;
        if (see) see(server);
      }
      EXPECT_EQ(server.counters().*how.meets, many);
      enough.cancel();
      co_await crowd.join();
    };
    return hold(at, web, s, look);
  }));
}

}  // namespace

HEDDLE_TEST(hostile, "heads that never end are ended, and others are answered") {
  hold_out({"GET / HTTP/1.1\r\n", "X: y\r\n", 2s, 20s, &http::server_counters::header_timeouts});
}

HEDDLE_TEST(hostile, "bodies that never end are ended, and others are answered") {
  hold_out({"POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", "b", 2s, 60s,
            &http::server_counters::body_timeouts});
}

HEDDLE_TEST(hostile, "connections that ask nothing are ended, and others are answered") {
  hold_out({"", "", 1s, 90s, &http::server_counters::idle_timeouts});
}

HEDDLE_TEST(hostile, "who does not read a large file is cut, and holds no more than its share") {
  http::server_options options;
  options.file_bytes_max = 1024 * 1024;
  std::size_t held_max = 0;
  hold_out({"GET /file HTTP/1.1\r\nHost: x\r\n\r\n", "", 1s, slow_end,
            &http::server_counters::write_timeouts},
           options, [&held_max](const http::server& web) {
             held_max = std::max(held_max, web.file_bytes_held());
             EXPECT_EQ(web.counters().file_parts_short != 0, true);
           });
  EXPECT_GT(held_max, 900'000u);  // they did try
  EXPECT_LE(held_max, 1024 * 1024 + many * 4096);
}

HEDDLE_TEST(hostile, "who sends request after request and reads nothing keeps no block") {
  std::string requests;
  while (requests.size() < 12'000)  // the client's own buffer holds the rest
    requests += "GET /page HTTP/1.1\r\nHost: x\r\nX: " + std::string(900, 'x') + "\r\n\r\n";
  hold_out({requests, "", 1s, slow_end, &http::server_counters::write_timeouts}, {},
           [](const http::server& web) {
             EXPECT_GT(runtime::here().io().blocks().free, 0u);
             EXPECT_GT(web.counters().block_copies, 0u);
           });
}

// SPDX-License-Identifier: MIT
// A million requests over connections that come and go, some of them rudely: at the end the server
// has the descriptors, cells and bytes that it had before. HEDDLE_SOAK_REQUESTS sets another count.
#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "heddle/base/sanitizer.hh"
#include "heddle/heddle.hh"
#include "heddle/web/server.hh"
#include "support/drivers.hh"
#include "web/transport.hh"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

#if HEDDLE_ASAN || HEDDLE_TSAN
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

constexpr std::size_t clients = 32;
constexpr std::string_view get = "GET /some/page?with=query HTTP/1.1\r\nHost: soak\r\n\r\n";
constexpr std::string_view post =
    "POST /echo HTTP/1.1\r\nHost: soak\r\nTransfer-Encoding: chunked\r\n\r\n"
    "1\r\nh\r\n2\r\ni\n\r\n0\r\n\r\n";
constexpr std::string_view answer_end = "\r\n\r\nhi\n";

task<http::response> answer(http::request& r) {
  if (r.path() == "/echo") co_return http::response(200).text(co_await r.text());
  co_return http::response(200).text("hi\n");
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  DIR* dir = ::opendir("/proc/self/fd");
  while (::readdir(dir) != nullptr) ++count;
  ::closedir(dir);
  return count;
}

/// Resident bytes of this process.
std::size_t resident() {
  std::FILE* f = std::fopen("/proc/self/statm", "r");
  std::size_t all = 0, here = 0;
  const int got = std::fscanf(f, "%zu %zu", &all, &here);
  std::fclose(f);
  return got == 2 ? here * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

struct work {
  std::size_t left = 0;      // requests that nobody has taken
  std::size_t answered = 0;  // with the right answer
  std::size_t rude = 0;      // connections broken off on purpose
  std::size_t connections = 0;
};

/// Reads until `count` right answers have come.
task<std::size_t> take_answers(stream& conn, std::size_t count) {
  std::size_t seen = 0;
  std::string rest;
  while (seen < count) {
    received in = co_await conn.receive();
    if (!in) break;
    rest += in.text();
    std::size_t from = 0;
    for (std::size_t at; (at = rest.find(answer_end, from)) != std::string::npos; ++seen) {
      EXPECT_EQ(rest.compare(from, 15, "HTTP/1.1 200 OK"), 0);
      from = at + answer_end.size();
    }
    rest.erase(0, from);
  }
  co_return seen;
}

/// One connection: up to `count` requests in batches, and perhaps a rude end.
task<> session(address at, work& w, std::size_t count, std::minstd_rand& dice) {
  stream conn = co_await test::connect_to(at);
  ++w.connections;
  while (count != 0) {
    const std::size_t batch = std::min<std::size_t>(count, 1 + dice() % 16);
    std::string asked;
    for (std::size_t i = 0; i < batch; ++i) asked += dice() % 8 == 0 ? post : get;
    co_await conn.write(std::string_view(asked));
    const std::size_t got = co_await take_answers(conn, batch);
    EXPECT_EQ(got, batch);
    w.answered += got;
    count -= batch;
  }
  switch (dice() % 6) {
    case 0:  // in the middle of a head
      co_await conn.write(get.substr(0, 1 + dice() % (get.size() - 1)));
      ++w.rude;
      break;
    case 1:  // in the middle of a body
      co_await conn.write(post.substr(0, post.size() - 3));
      ++w.rude;
      break;
    case 2:  // without waiting for the answer
      co_await conn.write(get);
      ++w.rude;
      break;
    case 3:
      conn.shutdown_write();
      EXPECT_FALSE(co_await conn.receive());
      break;
    default:
      break;
  }
}

task<> client(address at, work& w, unsigned seed) {
  std::minstd_rand dice(seed + 1);
  while (w.left != 0) {
    const std::size_t count = std::min<std::size_t>(w.left, 1 + dice() % 200);
    w.left -= count;
    co_await session(at, w, count, dice);
  }
}

task<work> load(address at, std::size_t requests) {
  work w{.left = requests};
  scope s;
  for (unsigned i = 0; i < clients; ++i) s.spawn(client(at, w, i));
  co_await s.join();
  co_return w;
}

struct footprint {
  std::size_t descriptors, cells, bytes;
};

task<footprint> at_rest(const http::server& web) {
  const time_point end = clock::now() + 20s;
  while (web.counters().open != 0 && clock::now() < end) co_await sleep_for(5ms);
  EXPECT_EQ(web.counters().open, 0u);
  co_return footprint{open_descriptors(), worker::here().memory.live(), resident()};
}

task<> soak(std::size_t requests) {
  auto [door, at] = test::open_door();
  http::server web(&answer, {});
  scope s;
  s.spawn(web.serve(std::move(door)));
  co_await load(at, requests / 10);
  const footprint before = co_await at_rest(web);
  const work done = co_await load(at, requests);
  const footprint after = co_await at_rest(web);
  EXPECT_EQ(done.answered, requests);
  EXPECT_GT(done.connections, requests / 200);
  EXPECT_GT(done.rude, done.connections / 4);
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.cells, before.cells);
  // A sanitizer keeps what was freed; its leak checker looks at the rest.
  if (!sanitized) EXPECT_LE(after.bytes, before.bytes + (1 << 20));
  std::printf(
      "soak: %zu requests, %zu connections, %zu of them broken off; descriptors %zu -> %zu, "
      "cells %zu -> %zu, resident KiB %zu -> %zu\n",
      done.answered, done.connections, done.rude, before.descriptors, after.descriptors,
      before.cells, after.cells, before.bytes / 1024, after.bytes / 1024);
  web.stop();
  co_await s.join();
}

/// A million each on the two drivers that serve in earnest, less where runs are slow.
std::size_t requests_for(const std::string& driver) {
  if (const char* wish = std::getenv("HEDDLE_SOAK_REQUESTS"))
    return static_cast<std::size_t>(std::max(std::atol(wish), 1000L));
  if (sanitized) return 10'000;
  if (driver == "sim") return 20'000;
  return driver == "poll" ? 100'000 : 1'000'000;
}

}  // namespace

DRIVER_TEST(soak, "requests over connections that come and go leave nothing behind") {
  runtime rt(make(), {});
  rt.run(soak(requests_for(make.name())));
}

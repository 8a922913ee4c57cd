// SPDX-License-Identifier: MIT
// Trouble below and around TLS: a simulated network with faults, and memory that runs out at every
// place where OpenSSL asks for it. What arrives is right, or there is an error; nothing hangs and
// nothing stays behind.
#include <openssl/crypto.h>

#include <cstdlib>
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"
#include "heddle/sim/driver.hh"
#include "heddle/tls/stream.hh"
#include "support/test.hh"
#include "support/tls_files.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

std::string pattern_of(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return text;
}

tls::server_context site_of_files() {
  return tls::server_context(
      {.certificates = {tls_files::get().certificate("site")}, .own_records = tests_own_records()});
}
tls::client_context trust_of_files() {
  return tls::client_context({.authorities = tls_files::get().authority()});
}

task<> echo(stream conn) {
  try {
    while (received in = co_await conn.receive()) co_await conn.write(in.data());
    conn.shutdown_write();
  } catch (const std::system_error&) {
    // The client sees it, too.
  }
}

task<> echo_all(listener door) {
  for (;;) {
    auto conn = co_await as_expected(door.accept());
    if (!conn && conn.error() == std::errc::operation_canceled) co_return;
    if (conn) spawn(echo(std::move(*conn)));
  }
}

task<> write_text(stream to, const std::string& text, bool& failed) {
  const auto done = co_await as_expected(to.write(byte_view(std::string_view(text))));
  failed = !done;
  if (done) to.shutdown_write();
}

/// Gives whether everything came back.
task<bool> ask_echo(address at, tls::client_context trust, const std::string& text) {
  std::string got;
  try {
    stream conn = co_await tls::connect(co_await tcp_connect(at), "localhost", trust);
    bool write_failed = false;
    scope s;
    s.spawn(write_text(conn, text, write_failed));
    for (;;) {
      auto in = co_await as_expected(with_timeout(conn.receive(), 60s));
      if (!in) break;
      if (in->empty()) {
        EXPECT_TRUE(write_failed || got.size() == text.size());
        break;
      }
      got += in->text();
    }
    conn.close();
    co_await s.join();
  } catch (const std::system_error&) {
  }
  EXPECT_TRUE(std::string_view(text).starts_with(got));
  co_return got.size() == text.size();
}

task<int> troubled_story() {
  tcp_listener door = tcp_listener::listen(address::loopback(80));
  const address at = door.local();
  scope server;
  server.spawn(echo_all(tls::listen(door, site_of_files())));
  const tls::client_context trust = trust_of_files();
  int whole = 0;
  const std::string text = pattern_of(30'000);
  for (int i = 0; i < 4; ++i) whole += co_await ask_echo(at, trust, text) ? 1 : 0;
  server.cancel();
  static_cast<void>(co_await as_expected(server.join()));
  door.close();
  co_return whole;
}

HEDDLE_TEST(tls_faults, "over a network with faults, bytes are right or there is an error") {
  int whole = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    SCOPED_TRACE(seed);
    sim_options options{
        .seed = seed,
        .link = {.latency = 20us, .jitter = 100us},
        .slow_links = 0.2,
        .faults = {.short_transfer = 0.3, .interrupted = 0.1, .reset = 0.003, .delayed = 0.2}};
    runtime rt(std::make_unique<sim_driver>(std::move(options)), {});
    whole += rt.run(troubled_story());
  }
  EXPECT_GT(whole, 25);  // of 100
}

// OpenSSL's memory, of which the allocation with this number fails. The functions are set before
// OpenSSL asks for any.
long allocations_left = -1;  // negative: none fails

bool spend() noexcept {
  if (allocations_left < 0) return true;
  if (allocations_left == 0) return false;
  --allocations_left;
  return true;
}

const bool memory_is_ours =
    CRYPTO_set_mem_functions(
        [](std::size_t size, const char*, int) { return spend() ? std::malloc(size) : nullptr; },
        [](void* old, std::size_t size, const char*, int) {
          return spend() ? std::realloc(old, size) : nullptr;
        },
        [](void* old, const char*, int) { std::free(old); }) == 1;

task<bool> one_exchange(tls::server_context site, tls::client_context trust) {
  auto [left, right] = unix_pair();
  auto serve = [](stream over, tls::server_context of) -> task<> {
    try {
      stream conn = co_await tls::accept(std::move(over), std::move(of));
      co_await echo(conn);
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
  };
  scope s;
  s.spawn(serve(std::move(left), std::move(site)));
  bool right_bytes = false;
  try {
    stream conn = co_await tls::connect(std::move(right), "localhost", std::move(trust));
    co_await conn.write(std::string_view("hello"));
    char got[5];
    right_bytes = co_await conn.read(got) == 5 && std::string_view(got, 5) == "hello";
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  right.close();
  co_await s.join();
  co_return right_bytes;
}

HEDDLE_TEST(tls_faults, "memory that runs out anywhere is an error and no more") {
  if (!memory_is_ours) GTEST_SKIP() << "OpenSSL had memory before the test could watch it";
  runtime rt(std::make_unique<sim_driver>(), {});
  const tls::server_context site = site_of_files();
  const tls::client_context trust = trust_of_files();
  EXPECT_TRUE(rt.run(one_exchange(site, trust)));
  int failed = 0;
  // Numbers far apart at first sight, so that all parts of the exchange are met.
  for (long at = 0; at < 6000; at += 1 + at / 40) {
    allocations_left = at;
    const bool good = rt.run(one_exchange(site, trust));
    const bool reached = allocations_left == 0;
    allocations_left = -1;
    failed += good ? 0 : 1;
    if (!reached) break;  // it took fewer
  }
  EXPECT_GT(failed, 50);
  EXPECT_TRUE(rt.run(one_exchange(site, trust)));
}

}  // namespace
}  // namespace heddle::test

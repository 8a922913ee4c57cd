// SPDX-License-Identifier: MIT
// Names to addresses, and connecting by name.
#include "heddle/io/resolve.hh"

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "heddle/heddle.hh"
#include "heddle/io/file.hh"
#include "heddle/io/tcp.hh"
#include "outcome.hh"
#include "support/drivers.hh"

using namespace heddle;
using heddle::test::error_of;
using namespace std::chrono_literals;

namespace {

/// The system's resolver does not answer for the name silent.test until this ends.
class silent_server {
 public:
  silent_server() { instance() = this; }
  silent_server(const silent_server&) = delete;
  ~silent_server() {
    {
      const std::lock_guard hold(lock_);
      over_ = true;
    }
    answers_.notify_all();
    while (ended_ != asked_) std::this_thread::yield();
    instance() = nullptr;
  }
  static int ask() {
    silent_server& s = *instance();
    ++s.asked_;
    {
      std::unique_lock hold(s.lock_);
      s.answers_.wait(hold, [&] { return s.over_; });
    }
    ++s.ended_;
    return EAI_AGAIN;
  }
  [[nodiscard]] int asked() const noexcept { return asked_; }

 private:
  static silent_server*& instance() {
    static silent_server* s = nullptr;
    return s;
  }
  std::mutex lock_;
  std::condition_variable answers_;
  bool over_ = false;
  std::atomic<int> asked_{0}, ended_{0};
};

}  // namespace

/// The library's calls come here, because this program defines the name.
extern "C" int getaddrinfo(const char* host, const char* service, const ::addrinfo* hints,
                           ::addrinfo** found) {
  if (host != nullptr && std::strcmp(host, "silent.test") == 0) return silent_server::ask();
  static const auto next =
      reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  return next(host, service, hints, found);
}

namespace {

task<> asks_in_vain() { co_await resolve("silent.test"); }

task<> gives_up_in_time() {
  const auto a = co_await as_expected(with_timeout(resolve("silent.test"), 20ms));
  EXPECT_EQ(error_of(a), std::errc::timed_out);
  const auto b = co_await as_expected(with_timeout(tcp_connect("silent.test", 80), 20ms));
  EXPECT_EQ(error_of(b), std::errc::timed_out);
}

/// With as many look-ups as there are threads for them, and more.
task<> reads_beside_look_ups(const silent_server& server) {
  scope asking;
  for (int i = 0; i < 20; ++i) asking.spawn(asks_in_vain());
  while (server.asked() < 8) co_await sleep_for(1ms);
  EXPECT_FALSE((co_await read_file("/proc/self/status")).empty());
  EXPECT_EQ(server.asked(), 8);
  asking.cancel();
  static_cast<void>(co_await as_expected(asking.join()));
}

void plant(driver& d) {
  if (auto* sim = dynamic_cast<sim_driver*>(&d)) {
    sim->set_host("localhost", {"::1", "127.0.0.1"}, 1ms);
    sim->set_host("slow.test", {"127.0.0.1"}, 3600s);
  }
}

task<> known_names() {
  const auto numeric = co_await resolve("10.1.2.3", "80");
  EXPECT_EQ(numeric.size(), 1u);
  EXPECT_EQ(numeric[0].to_string(), "10.1.2.3:80");
  const auto six = co_await resolve("2001:db8::7", "443");
  EXPECT_EQ(six[0].to_string(), "[2001:db8::7]:443");
  const auto here = co_await resolve("localhost", "8080", {.family = address_family::v4});
  EXPECT_FALSE(here.empty());
  for (const address& a : here) EXPECT_EQ(a.to_string(), "127.0.0.1:8080");
}

task<> no_such_port() {
  for (const char* port : {"65536", "99999", "184467440737095516160"}) {
    for (const char* host : {"127.0.0.1", "localhost"}) {
      try {
        co_await resolve(host, port);
        ADD_FAILURE() << port;
      } catch (const failure& f) {
        EXPECT_EQ(f.code().category(), resolver_category());
        EXPECT_NE(std::string(f.what()).find(port), std::string::npos) << f.what();
      }
    }
  }
  EXPECT_EQ((co_await resolve("127.0.0.1", "65535")).front().port(), 65535);
  const auto two = co_await as_expected(resolve(std::string("localhost\0.example", 18), "1"));
  EXPECT_FALSE(two);
}

task<> unknown_name() {
  try {
    co_await resolve("no.such.name.invalid", "1");
    ADD_FAILURE() << "found what is not there";
  } catch (const failure& f) {
    EXPECT_EQ(f.code().category(), resolver_category());
    EXPECT_NE(std::string(f.what()).find("no.such.name.invalid"), std::string::npos);
  }
}

task<> given_up() {
  const auto late = co_await as_expected(with_timeout(resolve("slow.test", "1"), 5ms));
  EXPECT_EQ(error_of(late), std::errc::timed_out);
}

task<> next_address() {
  // Only version 4 listens: the first address of the name is refused, the next is tried.
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  scope s;
  s.spawn(
      [](tcp_listener on) -> task<> {
        tcp_stream peer = co_await on.accept();
        co_await peer.write("x");
      },
      door);
  tcp_stream conn = co_await tcp_connect("localhost", door.local().port());
  char c[1];
  EXPECT_EQ(co_await conn.read(c), 1u);
  co_await s.join();
  const std::uint16_t port = door.local().port();
  door.close();
  const auto refused = co_await as_expected(tcp_connect("localhost", port));
  EXPECT_EQ(error_of(refused), std::errc::connection_refused);
}

void run_planted(std::unique_ptr<driver> d, task<> (*body)()) {
  plant(*d);
  runtime rt(std::move(d), {});
  rt.run(body());
}

}  // namespace

DRIVER_TEST(resolve, "numbers are answered at once, names by the resolver") {
  run_planted(make(), &known_names);
}
DRIVER_TEST(resolve, "a port that is none, and a name with a zero byte, are failures") {
  run_planted(make(), &no_such_port);
}
DRIVER_TEST(resolve, "a name that does not exist is a failure that names it") {
  run_planted(make(), &unknown_name);
}
HEDDLE_TEST(resolve, "a look-up can be given up") {
  run_planted(std::make_unique<sim_driver>(), &given_up);
}
DRIVER_TEST(resolve, "connecting by name tries the addresses in order") {
  run_planted(make(), &next_address);
}
HEDDLE_TEST(resolve, "without a thread for it, a look-up fails and names the host") {
  runtime_options options;
  options.io.lookup_threads_max = 0;
  runtime rt(std::move(options));
  rt.run([]() -> task<> {
    try {
      co_await resolve("silent.test");
      ADD_FAILURE() << "there is no thread";
    } catch (const failure& f) {
      EXPECT_EQ(f.code(), std::errc::resource_unavailable_try_again);
      EXPECT_NE(std::string(f.what()).find("silent.test"), std::string::npos) << f.what();
    }
  }());
}
DRIVER_TEST(resolve, "a time limit ends a look-up that the name server does not answer") {
  if (!make.real()) GTEST_SKIP() << "simulated names need no threads";
  silent_server server;
  run_planted(make(), &gives_up_in_time);
}
DRIVER_TEST(resolve, "look-ups that the name server does not answer hold up no file call") {
  if (!make.real()) GTEST_SKIP() << "simulated names need no threads";
  silent_server server;
  runtime rt(make(), {});
  rt.run(reads_beside_look_ups(server));
}
DRIVER_TEST(resolve, "a runtime that ends does not wait for a look-up") {
  if (!make.real()) GTEST_SKIP() << "simulated names need no threads";
  silent_server server;
  {
    runtime rt(make(), {});
    rt.run([](const silent_server& s) -> task<> {
      scope asking;
      asking.spawn(asks_in_vain());
      while (s.asked() < 1) co_await sleep_for(1ms);
      asking.cancel();
      static_cast<void>(co_await as_expected(asking.join()));
    }(server));
  }
  EXPECT_EQ(server.asked(), 1);
}

// SPDX-License-Identifier: MIT
// libcurl's easy interface, unchanged, which blocks: a hundred fibers on one worker ask a server of
// ours that takes its time, in parallel. Left out where there is no libcurl.
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "heddle/fiber/fiber.hh"
#include "heddle/heddle.hh"
#include "heddle/web/server.hh"
#include "support/drivers.hh"
#include "support/test.hh"

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>

using namespace heddle;
using namespace std::chrono_literals;

namespace {

constexpr int fibers = 100;
constexpr auto delay = 300ms;

/// Answers each request with its path, once so many are there together and a while has passed. It
/// has a thread and a runtime of its own, so nothing but hooks lets the fibers' worker go on.
class slow_server {
 public:
  explicit slow_server(int together) : together_(together) {
    std::promise<std::uint16_t> listening;
    auto port = listening.get_future();
    thread_ = std::thread([this, &listening] {
      runtime rt;
      http::server server([this](http::request& r) { return answer(r); });
      home_ = &rt;
      server_ = &server;
      rt.run(serve(listening));
      told_.get_future().wait();  // a post() that wakes us may not have returned yet
    });
    port_ = port.get();
  }
  slow_server(const slow_server&) = delete;
  ~slow_server() {
    home_->post([this] { server_->stop(); });
    told_.set_value();
    thread_.join();
  }
  [[nodiscard]] std::string url(int number) const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/" + std::to_string(number);
  }

 private:
  task<> serve(std::promise<std::uint16_t>& listening) {
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    listening.set_value(door.local().port());
    co_await server_->serve(std::move(door));
  }
  task<http::response> answer(http::request& r) {
    ++inside_;
    while (inside_ < together_) co_await sleep_for(1ms);
    co_await sleep_for(delay);
    co_return http::response(200).text(std::string(r.path()));
  }

  const int together_;
  int inside_ = 0;
  runtime* home_ = nullptr;
  http::server* server_ = nullptr;
  std::uint16_t port_ = 0;
  std::promise<void> told_;
  std::thread thread_;
};

std::size_t append(char* bytes, std::size_t size, std::size_t count, void* to) {
  static_cast<std::string*>(to)->append(bytes, size * count);
  return size * count;
}

/// Plain libcurl, as in any program that blocks.
std::string fetch(const std::string& url, long timeout_ms) {
  const std::unique_ptr<CURL, void (*)(CURL*)> easy(curl_easy_init(), &curl_easy_cleanup);
  std::string body;
  curl_easy_setopt(easy.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);  // its alarm() is for programs of one thread
  curl_easy_setopt(easy.get(), CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT_MS, timeout_ms);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, &append);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &body);
  const CURLcode how = curl_easy_perform(easy.get());
  return how == CURLE_OK ? body : curl_easy_strerror(how);
}

task<> ask(const slow_server& at, int number, int& right) {
  const std::string url = at.url(number);
  const fiber_options hooked{.stack_bytes = 0, .hooks = true};
  const std::string got = co_await fiber(hooked, fetch, std::cref(url), 20'000L);
  EXPECT_EQ(got, "/" + std::to_string(number));
  right += got == "/" + std::to_string(number);
}

task<> ask_many(const slow_server& at, int& right) {
  scope s;
  for (int i = 0; i < fibers; ++i) s.spawn(ask(at, i, right));
  co_await s.join();
}

/// The library's own time limit, which it watches by poll().
task<> ask_in_a_hurry(const slow_server& at) {
  const std::string url = at.url(0);
  const fiber_options hooked{.stack_bytes = 0, .hooks = true};
  const std::string got = co_await fiber(hooked, fetch, std::cref(url), 50L);
  EXPECT_EQ(got, curl_easy_strerror(CURLE_OPERATION_TIMEDOUT));
}

}  // namespace

DRIVER_TEST(curl, "a hundred fibers fetch through an unchanged libcurl, in parallel") {
  if (!make.real()) GTEST_SKIP() << "the library talks to the system";
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const slow_server server(fibers);
  runtime rt(make());
  int right = 0;
  const auto begin = std::chrono::steady_clock::now();
  rt.run(ask_many(server, right));
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(right, fibers);
  // No answer came before all hundred were asked for; one after another the delays take 30 s.
  EXPECT_LT(took, delay * fibers / 3);
}

DRIVER_TEST(curl, "its own time limit ends a call that waits") {
  if (!make.real()) GTEST_SKIP() << "the library talks to the system";
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const slow_server server(1);
  runtime rt(make());
  rt.run(ask_in_a_hurry(server));
}

#endif

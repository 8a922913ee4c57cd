// SPDX-License-Identifier: MIT
// One signal for all servers of a program, in whatever color they serve.
#include <unistd.h>
#include <csignal>

#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

task<http::response> answer_name(http::request&) { co_return http::response(200).text("here"); }

task<> serve_two(color second) {
  tcp_listener a = tcp_listener::listen(address::loopback(0));
  tcp_listener b = tcp_listener::listen(address::loopback(0));
  const address at_a = a.local(), at_b = b.local();
  scope s;
  s.spawn(http::serve_until_signal(std::move(a), answer_name));
  s.spawn(second, http::serve_until_signal(std::move(b), answer_name));
  EXPECT_EQ(body_of(co_await ask(at_a, "GET /")), "here");
  EXPECT_EQ(body_of(co_await ask(at_b, "GET /")), "here");
  ::kill(::getpid(), SIGTERM);
  co_await with_timeout(s.join(), 60s);
}

}  // namespace

HEDDLE_TEST(stop_signals, "one signal ends all servers of a program") {
  HEDDLE_NEEDS_TCP();
  for (const std::size_t workers : {std::size_t{1}, std::size_t{2}})
    for (const unsigned second : {0U, 1U}) {
      SCOPED_TRACE(std::to_string(workers) + " workers, color " + std::to_string(second));
      runtime_options options;
      options.workers = workers;
      runtime rt(std::move(options));
      rt.run(serve_two(color(second)));
    }
}

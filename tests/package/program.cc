// SPDX-License-Identifier: MIT
// A user's program outside the tree, built against an installed Heddle by tests/package/run. It
// uses what a shared library or another compiler could break: a thread-local of the library that
// inline functions read, a type that is thrown there and caught here, and unusual calls.
#include <chrono>
#include <cstdio>
#include <heddle/base/error.hh>
#include <heddle/heddle.hh>
#include <heddle/io/tcp.hh>
#include <heddle/web/server.hh>

using namespace heddle;

task<int> answer() {
  co_await sleep_for(std::chrono::milliseconds(1));
  HEDDLE_ASSERT(worker::current() != nullptr, "library and program share the thread-local");
  co_return 42;
}

task<> listen_twice() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  bool caught = false;
  try {
    tcp_listener other = tcp_listener::listen(door.local());
  } catch (const failure& f) {
    caught = f.code() == std::errc::address_in_use;
  }
  HEDDLE_ASSERT(caught, "an exception of the library has the type that the program knows");
  HEDDLE_ASSERT(co_await answer() == 42, "a task returns its value");
  bool timed_out = false;
  try {
    co_await with_timeout(sleep_for(std::chrono::hours(1)), std::chrono::milliseconds(1));
  } catch (const std::system_error& e) {
    timed_out = e.code() == std::errc::timed_out;
  }
  HEDDLE_ASSERT(timed_out, "an exception passes through awaited tasks");
  int sum = 0;
  for (int i = 0; i < 100; ++i) {  // the program's inline functions call the library's rare ones
    rendezvous<> both;
    int one = 0, two = 0;
    event<int> first = both.make_event(one), second = both.make_event(two);
    first.trigger(1);
    second.trigger(2);
    co_await both;
    co_await both;
    sum += one + two;
  }
  HEDDLE_ASSERT(sum == 300, "events write into the program's variables");
}

int main(int argc, char**) {
  HEDDLE_ASSERT(argc == 1, "the installed headers and library belong together");
  runtime rt;
  rt.run(listen_twice());
  http::server_options options;
  HEDDLE_ASSERT(options.http2, "the library's headers agree with its code");
  std::puts("package: a program outside the tree runs");
  return 0;
}

// SPDX-License-Identifier: MIT
// Instructions of a lock that goes from one function to another that waits for it, and of the yield
// between.
#include <cstdlib>

#include "heddle/heddle.hh"
#include "heddle/sync/mutex.hh"

using namespace heddle;

namespace {

task<> takes_turns(mutex& m, long n) {
  for (long i = 0; i < n; ++i) {
    auto held = co_await m.lock();
    co_await yield();
  }
}
task<> program(long n) {
  mutex m;
  scope s;
  s.spawn(takes_turns(m, n / 2));
  s.spawn(takes_turns(m, n / 2));
  co_await s.join();
}

}  // namespace

int main(int argc, char** argv) {
  runtime_options options;  // small and simple: what counts here never reaches the driver
  options.driver = "poll";
  options.poll_interval = std::chrono::hours(1);  // looks at the driver would count by time
  options.memory_bytes = std::size_t{1} << 30;
  runtime rt(options);
  rt.run(program(argc > 1 ? std::atol(argv[1]) : 1000));
}

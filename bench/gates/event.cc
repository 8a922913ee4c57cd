// SPDX-License-Identifier: MIT
// Instructions of an event: made, triggered and collected.
#include <cstdlib>

#include "heddle/heddle.hh"

using namespace heddle;

namespace {

task<> program(long n) {
  rendezvous<> r;
  int slot = 0;
  for (long i = 0; i < n; ++i) {
    event<int> e = r.make_event(slot);
    e.trigger(1);
    co_await r;
  }
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

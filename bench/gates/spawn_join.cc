// SPDX-License-Identifier: MIT
// Instructions of a task spawned into a scope and joined.
#include <cstdlib>

#include "heddle/heddle.hh"

using namespace heddle;

namespace {

task<> child() { co_return; }
task<> program(long n) {
  scope s;
  for (long i = 0; i < n; ++i) s.spawn(child());
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

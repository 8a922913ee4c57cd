// SPDX-License-Identifier: MIT
// Instructions of a child that ends at once: its frame made, run and freed.
#include <cstdlib>

#include "heddle/heddle.hh"

using namespace heddle;

namespace {

task<> child() { co_return; }
task<> program(long n) {
  for (long i = 0; i < n; ++i) co_await child();
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

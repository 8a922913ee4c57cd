// SPDX-License-Identifier: MIT
// Instructions of a timeout that is armed around a wait and does not fire.
#include <cstdlib>

#include "heddle/heddle.hh"

using namespace heddle;
using namespace std::chrono_literals;

namespace {

task<> program(long n) {
  for (long i = 0; i < n; ++i) co_await with_timeout(yield(), 1h);
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

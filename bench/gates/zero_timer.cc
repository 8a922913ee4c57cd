// SPDX-License-Identifier: MIT
// Instructions of a fork and a join on a timer of zero: the paper's smallest loop through events.
#include <cstdlib>

#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"

using namespace heddle;

namespace {

task<> program(long n) {
  for (long i = 0; i < n; ++i) {
    twait { timer(nanoseconds::zero(), mkevent()); }
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

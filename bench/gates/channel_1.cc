// SPDX-License-Identifier: MIT
// Instructions of a value that goes through a channel of one, from one function to another that
// waits for it.
#include <cstdlib>

#include "heddle/heddle.hh"
#include "heddle/sync/channel.hh"

using namespace heddle;

namespace {

task<> gives(channel<long>& to, long n) {
  for (long i = 0; i < n; ++i) co_await to.push(i);
  to.close();
}
task<> takes(channel<long>& from) {
  long sum = 0;
  while (const auto n = co_await from.pop()) sum += *n;
  if (sum < 0) std::abort();
}
task<> program(long n) {
  channel<long> c(1);
  scope s;
  s.spawn(takes(c));
  s.spawn(gives(c, n));
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

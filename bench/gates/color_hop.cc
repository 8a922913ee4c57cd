// SPDX-License-Identifier: MIT
// Instructions of a message from one color to another of the same worker: made, sent, its color
// entered, run and left.
#include <chrono>
#include <cstdlib>

#include "heddle/core/detail/message.hh"
#include "heddle/heddle.hh"

using namespace heddle;

namespace {

/// A message that sends the next one, to and fro.
struct hop {
  color here, there;
  long left;
  event<>* end;
  void operator()() {
    if (--left > 0) {
      post(there, hop{there, here, left, end});
    } else {
      end->trigger();
    }
  }
};

task<> hops(long n) {
  rendezvous<> r;
  event<> end = r.make_event();
  post(color(1), hop{color(1), color(2), n, &end});
  co_await r;
}

}  // namespace

int main(int argc, char** argv) {
  runtime_options options;  // small and simple: what counts here never reaches the driver
  options.driver = "poll";
  options.poll_interval = std::chrono::hours(1);  // looks at the driver would count by time
  options.workers = 1;
  options.memory_bytes = std::size_t{1} << 30;
  runtime rt(options);
  rt.run(hops(argc > 1 ? std::atol(argv[1]) : 1000));
}

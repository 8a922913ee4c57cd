// SPDX-License-Identifier: MIT
// chain CASE COUNT: raises the first topic COUNT times and prints what one raise cost, as a JSON
// line. CASE is short, cascade, or fallback: the short chain after one more handler was bound, so
// that no plan fits.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "chain.hh"

namespace chain {
#define HEDDLE_CHAIN_PART(n) \
  template <>                \
  void bind_part<n>(program & p);
HEDDLE_CHAIN_PART(0)
HEDDLE_CHAIN_PART(1)
HEDDLE_CHAIN_PART(2)
HEDDLE_CHAIN_PART(3)
HEDDLE_CHAIN_PART(4)
HEDDLE_CHAIN_PART(5)
HEDDLE_CHAIN_PART(6)
HEDDLE_CHAIN_PART(7)
HEDDLE_CHAIN_PART(8)
#undef HEDDLE_CHAIN_PART
}  // namespace chain

namespace {

/// One handler more than the plan expects.
struct adder {
  void add(chain::message&, std::uint32_t n) { sum += n; }
  std::uint32_t sum = 0;
};

double cpu_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

template <int... Part>
void bind_parts(chain::program& p, std::integer_sequence<int, Part...>) {
  (chain::bind_part<Part>(p), ...);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: chain short|cascade|fallback COUNT\n", stderr);
    return 2;
  }
  chain::program p;
  bind_parts(p, std::make_integer_sequence<int, chain::parts>());
  if (std::strcmp(argv[1], "cascade") == 0) p.topics_wanted = chain::topics;
  adder more;
  if (std::strcmp(argv[1], "fallback") == 0) {
    p.bus.bind<chain::step<0>, &adder::add>(&more, -1);
    p.bus.bind<chain::step<1>, &adder::add>(&more, -1);
    p.bus.bind<chain::step<2>, &adder::add>(&more, -1);
  }
  const long count = std::atol(argv[2]);
  chain::message m;
  // Least of ten parts: whatever else the machine does only adds.
  double least = 1e300;
  for (int part = 0; part < 10; ++part) {
    const double began = cpu_ns();
    for (long i = 0; i < count / 10; ++i) p.bus.raise<chain::step<0>>(m, 7u);
    least = std::min(least, (cpu_ns() - began) / static_cast<double>(count / 10));
  }
  for (const std::uint32_t stamp : m.stamps) more.sum ^= stamp;
  std::printf(
      "{\"case\":\"%s\",\"metric\":\"cpu_ns\",\"value\":%.3f,\"unit\":\"ns\","
      "\"merged\":%zu,\"checksum\":%u}\n",
      argv[1], least, p.bus.merged<chain::step<0>>(), more.sum);
}

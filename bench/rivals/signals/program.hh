// SPDX-License-Identifier: MIT
// Suite `bus`: each signal library is a program `NAME CASE COUNT`, with CASE short or cascade: the
// event program of bench/bus/parts.hh, raised COUNT times.
#pragma once

#include <algorithm>

#include "../../bus/parts.hh"
#include "../harness.hh"

namespace rival {

/// Raises topic 0 with all that follows; least of ten parts, since whatever else the machine does
/// only adds.
template <class Dispatch>
double raises(long count, int topics) {
  parts::program<Dispatch> p;
  parts::message m;
  double least = 1e300;
  const long each = count / 10 + 1;
  for (int part = 0; part < 10; ++part) {
    const double began = cpu_ns();
    for (long i = 0; i < each; ++i) p.run(m, topics);
    least = std::min(least, (cpu_ns() - began) / static_cast<double>(each));
  }
  std::uint32_t sum = 0;
  for (const std::uint32_t stamp : m.stamps) sum ^= stamp;
  volatile std::uint32_t used = sum;
  static_cast<void>(used);
  return least * static_cast<double>(count);
}

template <class Dispatch>
int run_signals(int argc, char** argv) {
  return run(argc, argv,
             {{"short", [](long n) { return raises<Dispatch>(n, parts::short_chain); }},
              {"cascade", [](long n) { return raises<Dispatch>(n, parts::topics); }}});
}

}  // namespace rival

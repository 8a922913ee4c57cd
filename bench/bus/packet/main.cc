// SPDX-License-Identifier: MIT
// packet raise|by_hand COUNT: passes COUNT packets through the nine handlers and prints what one
// cost, as a JSON line: by raises, or by ordinary calls of the same functions.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "packet.hh"

namespace {

using packets::packet;
using packets::step;

/// The same way of a packet without topics.
struct pipeline {
  void deliver(packet& p, std::uint32_t n) {
    s6.run(p, n);
    s7.run(p, n);
    s8.run(p, n);
  }
  void accept(packet& p, std::uint32_t n) {
    s3.run(p, n);
    s4.run(p, n);
    s5.run(p, n);
    deliver(p, n + 1);
  }
  void receive(packet& p, std::uint32_t n) {
    s0.run(p, n);
    s1.run(p, n);
    s2.run(p, n);
    accept(p, n + 1);
  }

  step<0> s0;
  step<1> s1;
  step<2> s2;
  step<3> s3;
  step<4> s4;
  step<5> s5;
  step<6> s6;
  step<7> s7;
  step<8> s8;
};

[[gnu::noinline]] void pass_by_hand(pipeline& by_hand, packet& p) { by_hand.receive(p, 7u); }
[[gnu::noinline]] void pass_by_raise(player::event_bus& bus, packet& p) {
  bus.raise<packets::arrived<0>>(p, 7u);
}

double cpu_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: packet raise|by_hand COUNT\n", stderr);
    return 2;
  }
  player::event_bus bus;
  packets::bind_first(bus);
  packets::bind_second(bus);
  const auto by_hand = std::make_unique<pipeline>();
  const bool raises = std::strcmp(argv[1], "raise") == 0;
  const long count = std::atol(argv[2]);
  packet p;
  // Least of ten parts: whatever else the machine does only adds.
  double least = 1e300;
  for (int part = 0; part < 10; ++part) {
    const double began = cpu_ns();
    if (raises) {
      for (long i = 0; i < count / 10; ++i) pass_by_raise(bus, p);
    } else {
      for (long i = 0; i < count / 10; ++i) pass_by_hand(*by_hand, p);
    }
    least = std::min(least, (cpu_ns() - began) / static_cast<double>(count / 10));
  }
  std::uint32_t sum = 0;
  for (const std::uint32_t stamp : p.stamps) sum = sum * 31 + stamp;
  std::printf(
      "{\"case\":\"%s\",\"metric\":\"cpu_ns\",\"value\":%.3f,\"unit\":\"ns\","
      "\"merged\":%zu,\"checksum\":%u}\n",
      argv[1], least, raises ? bus.merged<packets::arrived<0>>() : 0, sum);
}

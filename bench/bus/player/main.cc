// SPDX-License-Identifier: MIT
// player CASE COUNT: what the handlers of apps/player cost, as a JSON line. One program for each
// way to dispatch: the same handlers on the bus, merged by a plan, and by name.
//
// CASE is a topic: the processor time of one raise with all that follows from it. message_from_user
// is the hot chain, 3 topics and 11 handlers, for a message of one segment. The network is taken
// away: segments are dropped at the outbox and acknowledged, outside of what is measured. Or CASE
// is stream: a film of COUNT bytes over UDP, and all processor time for each segment.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "endpoint.hh"
#include "heddle/core/yield.hh"
#include "heddle/sched/runtime.hh"
#include "stream.hh"

namespace {

constexpr int batch = 256;  // raises between two looks at the clock: fewer than the window
constexpr std::uint32_t group = 8;

double cpu_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// What looking at the clock twice takes.
double clock_ns() {
  double least = 1e300;
  for (int i = 0; i < 1000; ++i) {
    const double began = cpu_ns();
    least = std::min(least, cpu_ns() - began);
  }
  return least;
}

struct bench {
  player::endpoint& e;
  std::vector<std::byte> bytes = std::vector<std::byte>(player::data_max);
  std::uint32_t number = 0;
  std::uint32_t sequence = 0;  // for who passes the sequencer

  void message() {
    const player::message m{.number = number++, .bytes = std::span(bytes).first(200)};
    e.bus.raise<player::message_from_user>(m);
  }
  player::kept next() {
    player::kept s = e.segments.make();
    s->frame = number++;
    s->total = 200;
    s->payload = std::span(bytes).first(200);
    return s;
  }
  void from_user() {
    const player::kept s = next();
    e.bus.raise<player::segment_from_user>(*s);
  }
  void to_net() {
    const player::kept s = next();
    s->sequence = sequence++;
    s->group = s->sequence - s->sequence % group;
    s->group_end = sequence % group == 0;
    e.bus.raise<player::segment_to_net>(*s);
  }
  void adapt() { e.bus.raise<player::adapt>(player::network_report{0.001 * (number++ & 63)}); }

  /// Everything that was sent is acknowledged, and what was posted is done.
  heddle::task<> settle() {
    co_await heddle::yield();
    std::uint32_t sent = 0;
    while (const auto s = e.outbox.try_pop())
      if ((*s)->kind == player::segment_kind::data) sent = std::max(sent, (*s)->sequence + 1);
    const std::vector<std::byte> none(128);
    player::segment ack;
    ack.kind = player::segment_kind::ack;
    ack.sequence = sent;
    ack.payload = none;
    if (sent > 0) e.bus.raise<player::ack_from_net>(ack);
    while (e.outbox.try_pop()) {
    }
  }
};

heddle::task<double> measure(void (bench::*step)(), long count) {
  player::stream_options o;
  o.window = o.window_max;
  player::endpoint e(o, 1);
  const std::vector<std::byte> film;
  e.add(player::make_source(e, film));  // its handler of adapt, too
  bench b{e};
  const double clock = clock_ns();
  // Least of ten parts: whatever else the machine does only adds.
  double least = 1e300;
  for (int part = 0; part < 10; ++part) {
    double sum = 0;
    const long rounds = std::max(count / 10 / batch, 1l);
    for (long round = 0; round < rounds; ++round) {
      const double began = cpu_ns();
      for (int i = 0; i < batch; ++i) (b.*step)();
      sum += cpu_ns() - began - clock;
      co_await b.settle();
    }
    least = std::min(least, sum / static_cast<double>(rounds * batch));
  }
  co_return least;
}

heddle::task<double> stream(long bytes) {
  const std::vector<std::byte> film(static_cast<std::size_t>(bytes));
  player::stream_options o;
  o.frames_per_s = 4000;
  o.loss = 0.02;
  const double began = cpu_ns();
  const player::stream_result r = co_await player::run_stream(o, film);
  const double took = cpu_ns() - began;
  if (!r.whole()) std::fputs(r.text().c_str(), stderr);
  co_return r.whole() ? took / static_cast<double>(r.sender.segments) : 0;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr struct {
    const char* name;
    void (bench::*step)();
  } steps[] = {{"message_from_user", &bench::message},
               {"segment_from_user", &bench::from_user},
               {"segment_to_net", &bench::to_net},
               {"adapt", &bench::adapt}};
  const long count = argc == 3 ? std::atol(argv[2]) : 0;
  if (count > 0) {
    heddle::runtime_options options;
    options.memory_bytes = std::size_t{1} << 30;  // so that it runs under valgrind, too
    heddle::runtime rt(options);
    double value = 0;
    for (const auto& s : steps)
      if (std::strcmp(argv[1], s.name) == 0) value = rt.run(measure(s.step, count));
    if (std::strcmp(argv[1], "stream") == 0) value = rt.run(stream(count));
    if (value > 0) {
      std::printf("{\"case\":\"%s\",\"metric\":\"cpu_ns\",\"value\":%.3f,\"unit\":\"ns\"}\n",
                  argv[1], value);
      return 0;
    }
  }
  std::fputs("usage: player stream BYTES | player CASE COUNT; cases:", stderr);
  for (const auto& s : steps) std::fprintf(stderr, " %s", s.name);
  std::fputs("\n", stderr);
  return 2;
}

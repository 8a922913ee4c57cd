// SPDX-License-Identifier: MIT
// A small pipeline of parts that do not know each other: a source posts samples, filters pass,
// change or drop them, a task collects what is left. Parts are chosen by the arguments:
//   bus smooth clip      HEDDLE_PROFILE=bus.prof bus smooth    heddle graph --bus bus.prof
#include <cstdio>
#include <cstring>

#include "heddle/bus/bus.hh"
#include "heddle/core/sleep.hh"
#include "heddle/sched/runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;

struct sample_taken : haltable_topic<double&> {};  // a handler may drop it
struct sample_ready : topic<double> {};
struct finished : topic<> {};

// The mean of this sample and the one before.
struct smooth {
  double last = 0;
  void on_sample(double& value) {
    const double mean = (value + last) / 2;
    last = value;
    value = mean;
  }
};

flow clip(double& value, double least, double most) {
  return value < least || value > most ? flow::halt : flow::go_on;
}

task<> source(bus& b) {
  for (int i = 0; i < 8; ++i) {
    co_await sleep_for(1ms);
    double value = i * i;
    b.raise<sample_taken>(value);
  }
  b.post<finished>();
}

task<> program(bus& b) {
  const auto pass_on = [](double& value, bus* to) { to->post<sample_ready>(value); };
  b.bind<sample_taken>(pass_on, 100, &b);
  b.bind<sample_ready>([](double value) { std::printf("%.1f\n", value); });
  scope parts;
  parts.spawn(source(b));
  co_await b.next<finished>();
  co_await parts.join();
}

int main(int argc, char** argv) {
  runtime rt;
  bus b;
  smooth smoother;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "smooth") == 0) {
      b.bind<sample_taken, &smooth::on_sample>(&smoother, 10);
    } else if (std::strcmp(argv[i], "clip") == 0) {
      b.bind<sample_taken, &clip>(20, 1.0, 30.0);
    } else {
      std::fprintf(stderr, "%s: no such part; the parts are smooth and clip\n", argv[i]);
      return 2;
    }
  }
  rt.run(program(b));
}

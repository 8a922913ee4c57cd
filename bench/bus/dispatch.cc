// SPDX-License-Identifier: MIT
// What a raise costs as every program gets it, without a plan: through a bus, through typed
// callables in a vector, and through a table of names with marshalled arguments, which is what
// event systems in C do. One item is one raise of topic 0 with all that follows from it. Signal
// libraries do the same in bench/rivals/signals/.
#include <benchmark/benchmark.h>

#include <any>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "bus/parts.hh"
#include "heddle/bus/bus.hh"

namespace {

using parts::message;

struct by_bus {
  template <int Topic>
  struct topic : heddle::topic<message&, std::uint32_t> {};
  template <int Topic, auto Member, class Part>
  void bind(Part& p, int order) {
    bus.bind<topic<Topic>, Member>(&p, order);
  }
  template <int Topic>
  void raise(message& m, std::uint32_t n) {
    bus.raise<topic<Topic>>(m, n);
  }
  heddle::bus bus;
};

/// The arguments travel as untyped values, the topic as its name.
struct by_name {
  using handler = std::function<void(std::span<const std::any>)>;
  static std::string name_of(int topic) { return "topic_from_user_" + std::to_string(topic); }
  template <int Topic, auto Member, class Part>
  void bind(Part& p, int) {
    table[name_of(Topic)].push_back([&p](std::span<const std::any> args) {
      (p.*Member)(*std::any_cast<message*>(args[0]), std::any_cast<std::uint32_t>(args[1]));
    });
  }
  template <int Topic>
  void raise(message& m, std::uint32_t n) {
    static const std::string name = name_of(Topic);
    const std::any args[] = {&m, n};
    for (const handler& h : table.find(name)->second) h(args);
  }
  std::unordered_map<std::string, std::vector<handler>> table;
};

/// Typed callables in a vector: what one writes by hand.
struct by_functions {
  template <int Topic, auto Member, class Part>
  void bind(Part& p, int) {
    table[Topic].push_back([&p](message& m, std::uint32_t n) { (p.*Member)(m, n); });
  }
  template <int Topic>
  void raise(message& m, std::uint32_t n) {
    for (const auto& h : table[Topic]) h(m, n);
  }
  std::vector<std::function<void(message&, std::uint32_t)>> table[parts::topics];
};

template <class Dispatch, int Topics>
void raises(benchmark::State& state) {
  parts::program<Dispatch> p;
  message m;
  for (auto _ : state) {
    p.run(m, Topics);
    benchmark::DoNotOptimize(m);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

#define CASES(subject, dispatch)                                              \
  BENCHMARK(raises<dispatch, parts::short_chain>)->Name("bus/short" subject); \
  BENCHMARK(raises<dispatch, parts::topics>)->Name("bus/cascade" subject)
CASES("", by_bus);
CASES(":functions", by_functions);
CASES(":by_name", by_name);

}  // namespace

BENCHMARK_MAIN();

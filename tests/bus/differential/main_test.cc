// SPDX-License-Identifier: MIT
// program profile: runs with the first bindings only, for the plan.
// program traces FIRST COUNT: a line for each seed, with the length and the hash of its trace.
// program clash: one handler whose name means another one in another file; its trace.
// program merged: how many of 100 raises found a merged sequence.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/virtual_runtime.hh"
#include "world.hh"

namespace differential {

void world::act(int id, int argument) {
  trace += std::to_string(depth) + ':' + std::to_string(id) + ',' + std::to_string(argument) + ' ';
  if (budget <= 0) return;
  --budget;
  struct deeper {
    int& depth;
    explicit deeper(int& d) : depth(++d) {}
    ~deeper() { --depth; }
  } const inside(depth);
  const std::uint32_t choice = random(28);
  const int value = static_cast<int>(random(50));
  if (choice < 3 && depth < 5) bus.raise<alpha>(this, value);
  if (choice == 3 && depth < 5) bus.raise<beta>(this, value);
  if (choice == 4 && depth < 5) {
    trace += bus.raise<gamma>(this, value) == heddle::flow::halt ? "halted " : "whole ";
  }
  if (choice == 5 && depth < 5) bus.raise<delta>(this, std::to_string(value));
  if (choice == 6 && depth < 5) {
    try {
      bus.raise<beta>(this, value);
    } catch (const thrown& t) {
      trace += "caught" + std::to_string(t.by) + ' ';
    }
  }
  if (choice == 7) bus.post<beta>(this, value);
  if (choice == 8) bus.after<alpha>(heddle::nanoseconds(value), this, value);
  if (!changes) return;
  if (choice == 9) throw thrown{id};
  if ((choice == 10 || choice == 11) && !bindings.empty()) {
    const std::size_t which = random(static_cast<std::uint32_t>(bindings.size()));
    trace += bus.unbind(bindings[which]) ? "unbound " : "gone ";
  }
  if (choice == 12 && bindings.size() < 60)
    bindings.push_back(
        binders[random(static_cast<std::uint32_t>(binders.size()))](*this, value % 7));
  if (choice == 13 && bindings.size() < 60)
    bindings.push_back(
        filters[random(static_cast<std::uint32_t>(filters.size()))](*this, value % 3));
  if (choice == 14 && queues.size() < 4) queues.push_back(bus.each<beta>(4));
  if (choice == 15 && queues.size() > 1) queues.erase(queues.begin());
  if (choice == 16 && !queues.empty()) queues.back().clear();
}

namespace {

void top_level(world& w, std::uint32_t choice, int value) {
  w.budget = 40;
  try {
    if (choice < 5) w.bus.raise<alpha>(&w, value);
    if (choice == 5) w.bus.raise<beta>(&w, value);
    if (choice == 6) w.bus.raise<gamma>(&w, value);
    if (choice == 7) w.bus.raise<delta>(&w, std::to_string(value));
  } catch (const thrown& t) {
    w.trace += "out" + std::to_string(t.by) + ' ';
  }
}

void start(world& w, std::uint64_t seed) {
  w.random_state = seed * 7919 + 17;
  add_first(w);
  add_second(w);
  add_third(w);
  int order = 0;
  for (const world::binder bind : w.binders) w.bindings.push_back(bind(w, order++ % 5));
  w.queues.push_back(w.bus.each<beta>(4));
}

/// What the queues have, as text.
void note_queues(world& w) {
  for (const auto& q : w.queues)
    w.trace += 'q' + std::to_string(q.size()) + '-' + std::to_string(q.dropped()) + ' ';
}

std::string trace_of(std::uint64_t seed) {
  heddle::test::virtual_runtime v;
  world w;
  start(w, seed);
  w.changes = seed % 4 != 0;
  for (int i = 0; i < 40; ++i) {
    top_level(w, w.random(8), static_cast<int>(w.random(50)));
    w.budget = 20;
    while (v.rt.once()) {
    }
    note_queues(w);
  }
  w.changes = false;
  v.rt.run();
  // Exceptions of posted raises are reported, not printed.
  return w.trace + std::to_string(v.reports.size());
}

int print_profile_run() {
  heddle::test::virtual_runtime v;
  world w;
  start(w, 1);
  w.changes = false;
  for (int i = 0; i < 300; ++i) top_level(w, static_cast<std::uint32_t>(i % 8), i);
  v.rt.run();
  return 0;
}

int print_merged() {
  heddle::test::virtual_runtime v;
  world w;
  start(w, 4);
  std::printf("%zu %zu %zu %zu\n", w.bus.merged<alpha>(), w.bus.merged<beta>(),
              w.bus.merged<gamma>(), w.bus.merged<delta>());
  return 0;
}

int print_clash() {
  heddle::test::virtual_runtime v;
  for (const bool from_first : {true, false}) {
    world w;
    (from_first ? add_first : add_second)(w);
    w.bindings.push_back(w.binders[from_first ? act_4_of_first : act_4_of_second](w, 0));
    for (int i = 0; i < 3; ++i) w.bus.raise<alpha>(&w, i);
    std::printf("%s%zu\n", w.trace.c_str(), w.bus.merged<alpha>());
  }
  return 0;
}

int print_traces(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const std::string trace = trace_of(seed);
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : trace) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    std::printf("%llu %zu %016llx\n", static_cast<unsigned long long>(seed), trace.size(),
                static_cast<unsigned long long>(hash));
  }
  return 0;
}

}  // namespace
}  // namespace differential

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "profile") == 0) return differential::print_profile_run();
  if (argc == 2 && std::strcmp(argv[1], "clash") == 0) return differential::print_clash();
  if (argc == 2 && std::strcmp(argv[1], "merged") == 0) return differential::print_merged();
  if (argc == 4 && std::strcmp(argv[1], "traces") == 0)
    return differential::print_traces(std::strtoull(argv[2], nullptr, 10),
                                      std::strtoull(argv[3], nullptr, 10));
  std::fputs("usage: program profile | clash | merged | traces FIRST COUNT\n", stderr);
  return 2;
}

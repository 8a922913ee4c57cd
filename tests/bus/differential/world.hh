// SPDX-License-Identifier: MIT
// A random event program: handlers in three files that raise, bind, unbind, filter, queue, halt,
// throw, post and delay as a seed says, and leave a trace. It is built generic and merged, in
// several ways; the traces must be the same (tests/bus/optimized_test.cc).
#pragma once

#include <string>
#include <vector>

#include "heddle/bus/bus.hh"

namespace differential {

struct world;

struct alpha : heddle::topic<world*, int> {};
struct beta : heddle::topic<world*, int> {};
struct gamma : heddle::haltable_topic<world*, int> {};
struct delta : heddle::topic<world*, const std::string&> {};

struct thrown {
  int by;
};

struct world {
  using binder = heddle::binding (*)(world&, int order);

  heddle::bus bus;
  std::uint64_t random_state = 1;
  bool changes = true;  ///< bindings may change
  int depth = 0;
  int budget = 0;  ///< actions left in this raise
  std::string trace;
  std::vector<binder> binders;
  std::vector<binder> filters;  ///< bound later only: no profile has them
  std::vector<heddle::binding> bindings;
  std::vector<heddle::raise_queue<beta>> queues;

  std::uint32_t random(std::uint32_t below) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(random_state >> 33) % below;
  }
  /// What every handler does: leaves its mark, then whatever chance says.
  void act(int id, int argument);
};

/// The handlers of each file.
void add_first(world& w);
void add_second(world& w);
void add_third(world& w);

/// A member template: compilers print act<3> and act<4> alike, and the files meet them in different
/// orders.
struct generic_part {
  template <int N>
  void act(world* w, int n) {
    w->act(1000 + N, n);
  }
};
inline generic_part generic_parts;
/// Which binder of a file binds act<4> to alpha.
inline constexpr std::size_t act_4_of_first = 5;
inline constexpr std::size_t act_4_of_second = 0;

/// Bound by an inline function that two files use: both then have the handler's entry in the plan's
/// register, which is one.
struct shared_part {
  void on_beta(world* w, int n) { w->act(40, n); }
};
inline shared_part shared_parts;
inline heddle::binding bind_shared(world& to, int order) {
  return to.bus.bind<beta, &shared_part::on_beta>(&shared_parts, order);
}

}  // namespace differential

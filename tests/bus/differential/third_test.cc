// SPDX-License-Identifier: MIT
// Handlers of the third file: closures with state, which unbinding destroys.
#include <memory>

#include "world.hh"

namespace differential {

void add_third(world& w) {
  w.binders.push_back([](world& to, int order) {
    return to.bus.bind<alpha>(
        [kept = std::make_unique<int>(30)](world* x, int n) { x->act(*kept, n); }, order);
  });
  w.binders.push_back([](world& to, int order) {
    auto counter = std::make_shared<int>(0);
    return to.bus.bind<beta>(
        [counter](world* x, int n) {
          x->act(31, n + ++*counter);
          x->act(32, *counter);  // the closure is still there when it was unbound meanwhile
        },
        order);
  });
  w.binders.push_back([](world& to, int order) {
    return to.bus.bind<gamma>(
        [last = 0](world* x, int n) mutable {
          x->act(33, n - last);
          last = n;
          return n % 5 == 4 ? heddle::flow::halt : heddle::flow::go_on;
        },
        order);
  });
  w.binders.push_back([](world& to, int order) {
    return to.bus.bind<delta>(
        [](world* x, const std::string& s) { x->act(34, s.empty() ? 0 : s[0]); }, order);
  });
  w.binders.push_back(&bind_shared);
  w.filters.push_back([](world& to, int order) {
    auto counter = std::make_shared<int>(0);
    return to.bus.filter<gamma>(
        [counter](world* x, int n) {
          x->act(35, n);
          return ++*counter % 3 == 0 ? heddle::flow::halt : heddle::flow::go_on;
        },
        order);
  });
  w.filters.push_back([](world& to, int order) {
    return to.bus.filter<delta>(
        [](world* x, const std::string& s) {
          x->act(36, static_cast<int>(s.size()));
          return s == "7" ? heddle::flow::halt : heddle::flow::go_on;
        },
        order);
  });
}

}  // namespace differential

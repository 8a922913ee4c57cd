// SPDX-License-Identifier: MIT
// Handlers of the first file: functions, members, lambdas that are printed alike.
#include "world.hh"

namespace differential {
namespace {

/// The second file has a class of the same name that does something else.
struct part {
  void on_alpha(world* w, int n) { w->act(10, n); }
  heddle::flow on_gamma(world* w, int n) {
    w->act(11, n);
    return w->random(8) == 0 ? heddle::flow::halt : heddle::flow::go_on;
  }
} own;

void on_beta(world* w, int n) { w->act(12, n); }
void with_bound(world* w, int n, int more, const std::string& text) {
  w->act(13 + more, n + static_cast<int>(text.size()));
}

}  // namespace

void add_first(world& w) {
  w.binders.push_back(
      [](world& to, int order) { return to.bus.bind<alpha, &part::on_alpha>(&own, order); });
  w.binders.push_back(
      [](world& to, int order) { return to.bus.bind<gamma, &part::on_gamma>(&own, order); });
  w.binders.push_back([](world& to, int order) { return to.bus.bind<beta, &on_beta>(order); });
  w.binders.push_back([](world& to, int order) {
    return to.bus.bind<beta, &with_bound>(order, 1, std::string("abc"));
  });
  w.binders.push_back([](world& to, int order) {
    return to.bus.bind<alpha, &generic_part::act<3>>(&generic_parts, order);
  });
  w.binders.push_back([](world& to, int order) {
    return to.bus.bind<alpha, &generic_part::act<4>>(&generic_parts, order);
  });
  w.binders.push_back([](world& to, int order) {
    return to.bus.bind<alpha>([](world* x, int n) { x->act(15, n); }, order);
  });
  w.binders.push_back([](world& to, int order) {
    return to.bus.bind<alpha>([](world* x, int n) { x->act(16, n); }, order);
  });
  w.binders.push_back(&bind_shared);
  w.binders.push_back([](world& to, int order) {
    return to.bus.bind_if<alpha, &part::on_alpha>([](world*, int n) { return n % 3 != 0; }, &own,
                                                  order);
  });
  w.binders.push_back([](world& to, int order) {
    return to.bus.bind_if<gamma>(
        [](world* x, int n) {
          x->act(17, n);  // a guard may raise, bind and throw
          return n % 2 == 0;
        },
        [](world* x, int n) {
          x->act(18, n);
          return n % 5 == 0 ? heddle::flow::halt : heddle::flow::go_on;
        },
        order);
  });
  w.filters.push_back([](world& to, int order) {
    return to.bus.filter<alpha>(
        [](world* x, int n) {
          x->act(19, n);
          return n % 4 == 0 ? heddle::flow::halt : heddle::flow::go_on;
        },
        order);
  });
}

}  // namespace differential

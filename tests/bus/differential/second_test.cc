// SPDX-License-Identifier: MIT
// Handlers of the second file: a class named as one of the first, and the member templates in the
// other order.
#include "world.hh"

namespace differential {
namespace {

struct part {
  void on_alpha(world* w, int n) { w->act(20, n); }
  void on_gamma(world* w, int n) { w->act(21, n); }
  void on_delta(world* w, const std::string& s) { w->act(22, static_cast<int>(s.size())); }
} own;

}  // namespace

void add_second(world& w) {
  w.binders.push_back([](world& to, int order) {
    return to.bus.bind<alpha, &generic_part::act<4>>(&generic_parts, order);
  });
  w.binders.push_back([](world& to, int order) {
    return to.bus.bind<beta, &generic_part::act<3>>(&generic_parts, order);
  });
  w.binders.push_back(
      [](world& to, int order) { return to.bus.bind<alpha, &part::on_alpha>(&own, order); });
  w.binders.push_back(
      [](world& to, int order) { return to.bus.bind<gamma, &part::on_gamma>(&own, order); });
  w.binders.push_back(
      [](world& to, int order) { return to.bus.bind<delta, &part::on_delta>(&own, order); });
}

}  // namespace differential

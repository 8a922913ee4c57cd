// SPDX-License-Identifier: MIT
// Rules T and K in the dialect: waits, functions, variables and what ends them.
// out: all held
#include <tamer/tamer.hh>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

static std::string trace;

tamed void later(int turns, tamer::event<> e) {
  tvars { int i; }
  for (i = 0; i < turns; ++i) twait { tamer::at_asap(make_event()); }
  e();
}

tamed void waits(int way) {
  tvars { int i(0), n(0); std::vector<int> got(3); }
  twait { }                                     // T1: nothing to wait for
  twait { make_event()(); }                     // T1: fired already
  twait {
    for (int j = 0; j < 10; ++j) later(j, make_event());   // T1: any number, from a loop
  }
  if (way == 0)                                 // T2
    twait { later(1, make_event()); }
  else
    twait { later(2, make_event()); }
  for (i = 0; i < 3; ++i)
    twait { tamer::at_asap(tamer::bind(make_event(got[i]), i * i)); }
  check(got[2] == 4);
  do
    twait { later(1, make_event()); }
  while (++n < 2);
again:
  switch (n) {                                  // T2
    case 2:
      twait { later(1, make_event()); }
      n = 3;
      goto again;
    case 3: {
      twait { later(1, make_event()); }
      break;
    }
    default:
      check(false);
  }
  twait {                                       // nested
    later(1, make_event());
    twait { later(2, make_event()); }
    n = 4;
  }
  check(n == 4);
  trace += "w";                                 // T5: "twait { later(make_event()); }"
}

static tamer::event<> left;

tamed void leaves(tamer::event<> done) {
  tvars { counted c; }
  twait {
    left = make_event();
    done();
    return;                                     // T3
  }
}

tamed void throws(tamer::event<> done, bool before) {
  tvars { counted c; }
  if (before) throw std::runtime_error("first run");
  twait { tamer::at_asap(make_event()); }
  done();
  throw std::runtime_error("later");
}

struct base {
  virtual ~base() {}
  tamed virtual void go(tamer::event<int> e) = 0;
  tamed static void make(tamer::event<int> e) {
    twait { later(1, make_event()); }
    e(1);
  }
};
struct derived : base {
  tamed void go(tamer::event<int> e) override;
  tamed void constant(int&& x, tamer::event<int> e) const noexcept;
  template <class T> tamed void member(T x, tamer::event<T> e) {
    twait { later(1, make_event()); }
    e(x);
  }
  int value = 5;
};
tamed void derived::go(tamer::event<int> e) {
  twait { later(2, make_event()); }
  e(value);
}
tamed void derived::constant(int&& x, tamer::event<int> e) const noexcept {
  tvars { int kept = x; }
  twait { later(1, make_event()); }
  e(value + kept);
}
template <template <class...> class C, class... Ts>
struct outer {
  tamed template <class F> void call(F f, C<Ts...> c, tamer::event<int> e);
};
tamed template <template <class...> class C, class... Ts> template <class F>
void outer<C, Ts...>::call(F f, C<Ts...> c, tamer::event<int> e) {
  twait { later(1, make_event()); }
  e(f(int(c.size())));
}
tamed void overloaded(int, tamer::event<int> e) {
  twait { later(1, make_event()); }
  e(1);
}
tamed void overloaded(double, tamer::event<int> e, int = 3) {
  twait { later(1, make_event()); }
  e(2);
}

tamed void kinds() {
  tvars { derived d; int a, b, c; outer<std::vector, char> o; void (*pointer)(int, tamer::event<>); std::function<void(int, tamer::event<int>)> f; std::string s; }
  pointer = &later;
  f = [](int x, tamer::event<int> e) tamed {
    twait { later(1, make_event()); }
    e(x + 1);
  };
  twait { static_cast<base&>(d).go(make_event(a)); base::make(make_event(b)); }
  check(a == 5 && b == 1);
  twait { d.constant(4, make_event(a)); d.member(std::string("m"), make_event(s)); }
  check(a == 9 && s == "m");
  twait { o.call([=](int x) { return x * 2; }, std::vector<char>(3), make_event(c)); }
  check(c == 6);
  twait { overloaded(1, make_event(a)); overloaded(1.0, make_event(b)); pointer(1, make_event()); }
  check(a == 1 && b == 2);
  twait { f(2, make_event(a)); }
  check(a == 3);
}

tamed void captured(std::string by_value, std::string& by_reference, int array[2], int, int defaulted = 8,
                    tamer::event<> e = tamer::event<>()) {
  tvars { std::string first = by_value; int sizes[3][4]; int& r = array[0]; }
  trace += "1";                                 // K1: at once
  twait { later(1, make_event()); }
  check(by_value == "old" && by_reference == "new");   // K2
  check(array[1] == 2 && defaulted == 8 && first == "old");
  check(sizeof(sizes) == 12 * sizeof(int) && &r == array);   // K3
  e();
}

tamed void variables(tamer::event<> done) {
  tvars { std::string a("old"), b("old"); int c[2] = {1, 2}; counted d; std::vector<std::string> v(2, a); std::string w(std::string()); }
  tvars { counted again; }
  const std::string on_the_stack = "kept";
  check(v[1] == "old" && w.empty());
  trace.clear();
  twait {
    captured(a, b, c, 0, 8, make_event());
    trace += "2";
    a = "new";
    b = "new";
  }
  check(trace == "12" && counted::live == 2);   // K4
  for (const std::string& s : v) {
    twait { later(1, make_event()); }
    check(s == "old" && on_the_stack == "kept");
  }
  try {
    twait { later(1, make_event()); }
    throw 3;
  } catch (int x) {
    check(x == 3);
  }
  done();
}

static tamer::rendezvous<int> foreign;
static int* slot_of_dead = nullptr;

tamed void dead_slot() {
  tvars { int slot(1); tamer::rendezvous<> mine; }
  slot_of_dead = &slot;
  left = make_event(mine);
  tamer::at_asap(tamer::bind(make_event(foreign, 1, slot), 77));
  twait { tamer::at_asap(make_event()); }
  if (slot == 77) twait { later(0, make_event()); }
}

tamed void everything() {
  tvars { int i; bool threw(false); tamer::event<> e; }
  waits(0);
  waits(1);
  twait { variables(make_event()); }
  twait { leaves(make_event()); }
  check(!left && counted::live == 0);           // T3: the event that it made is empty
  try {
    throws(tamer::event<>(), true);
  } catch (const std::runtime_error&) {
    threw = true;
  }
  check(threw && counted::live == 0);
  kinds();
  dead_slot();
  twait(foreign, i);                            // K7: nothing is written into a dead variable
  twait { later(3, make_event()); }
  check(!left);
}

int main() {
  tamer::initialize();
  everything();
  tamer::loop();
  bool threw = false;
  {
    tamer::rendezvous<> r;
    throws(tamer::make_event(r), false);
    try {
      tamer::loop();
    } catch (const std::runtime_error& e) {
      threw = e.what() == std::string("later");
    }
  }
  check(threw && counted::live == 0);
  check(trace.find("ww") != std::string::npos || trace.size() > 1);
  tamer::cleanup();
  return end_of_checks();
}

// SPDX-License-Identifier: MIT
// Rules E and C in the dialect: events, and events that stand for several.
// out: all held
#include <tamer/tamer.hh>

#include <memory>
#include <string>
#include <utility>

#include "check.h"

static std::string order;

tamed void note(const char* what, tamer::event<> e) {
  twait { tamer::at_asap(make_event()); }
  order += what;
  e();
}

tamed void states() {
  tvars { tamer::rendezvous<> r; tamer::event<> e, f; int x(1), y(2); tamer::event<int> g, h; }
  check(!e && e.empty());                       // E1: made without an occurrence
  e = make_event(r);
  check(e && !e.empty());
  f = std::move(e);
  check(!e && f);                               // E1: moved from
  e = f;                                        // E2: copies name one occurrence
  f.trigger();
  check(!e && !f);
  e.trigger();                                  // E4: an empty event takes a trigger
  twait(r);
  g = make_event(r, x);
  h = g;
  g(5);                                         // E4, and E3: the value is there at once
  check(x == 5 && !h);
  h.trigger(6);                                 // E2: a second one does not touch the slot
  check(x == 5);
  twait(r);
  g = make_event(r, y);
  g.unblock();                                  // E5
  check(y == 2 && !g);
  twait(r);
  g = make_event(r, y);
  e = g.unblocker();
  e.trigger();
  check(y == 2 && !g && !e);
  twait(r);
  check(!r.has_events());
}

tamed void deferred() {
  tvars { tamer::rendezvous<> r; tamer::event<> a, b; }
  order.clear();
  note("1", a = make_event(r));
  note("2", b = make_event(r));
  order += "0";                                 // E3: nobody runs inside of a call
  twait(r);
  twait(r);
  check(order == "012");
}

tamed void notifiers() {
  tvars { tamer::rendezvous<int> r; int i(0); std::string got; tamer::event<> e; }
  e = make_event(r, 1);
  e.at_trigger(make_event(r, 2));               // E7
  e.at_trigger(make_event(r, 3));
  e.at_trigger(tamer::event<>());
  e.trigger();
  e.at_trigger(make_event(r, 4));               // at once: it is empty
  while (r.has_events()) {
    twait(r, i);
    got += char('0' + i);
  }
  check(got == "1234");
}

tamed void values(int n, tamer::event<int, std::string, double, char> e) {
  twait { tamer::at_asap(make_event()); }
  e.trigger(n, "text", 1.5, 'c');
}

struct only_moves {
  std::unique_ptr<int> p;
};

tamed void results() {
  tvars {
    int i; std::string s; double d; char c; const char* text(0); only_moves m;
    tamer::rendezvous<std::pair<int, std::string>, bool> r; std::pair<int, std::string> id; bool yes(false);
    tamer::event<only_moves> e;
  }
  twait { values(3, make_event(i, s, d, c)); }  // E8
  check(i == 3 && s == "text" && d == 1.5 && c == 'c');
  twait {
    tamer::event<const char*> t = make_event(text);
    e = make_event(m);
    t("literal");
    e.trigger(only_moves{std::make_unique<int>(7)});
  }
  check(std::string(text) == "literal" && *m.p == 7);
  make_event(r, std::make_pair(4, std::string("x")), true)();   // E9, and two ids
  twait(r, id, yes);
  check(id.first == 4 && id.second == "x" && yes);
}

tamed void combined() {
  tvars { tamer::rendezvous<int> r; int i, j(0), k(0), l(0); tamer::event<> e; std::string got; tamer::event<int> a, b, c; }
  tamer::distribute(make_event(r, 1), make_event(r, 2), make_event(r, 3)).trigger();   // C1
  while (r.has_events()) {
    twait(r, i);
    got += char('0' + i);
  }
  check(got == "123");
  twait {
    a = make_event(j);
    b = make_event(k);
    c = tamer::distribute(a, b);
    a.trigger(1);                               // C2
    c.trigger(2);
  }
  check(j == 1 && k == 2);
  twait {
    a = make_event(j);
    b = make_event(k);
    c = tamer::distribute(a, b);
    a.trigger(1);
    b.trigger(1);
    check(!c);                                  // C2
  }
  twait {
    e = tamer::distribute(tamer::event<>(), make_event());   // C3
    e = tamer::distribute(e, e);
    for (i = 0; i < 100; ++i) e += make_event();
    e();
  }
  twait {
    a = make_event(j);
    b = make_event(k);
    c = tamer::distribute(a, b);
    c.at_trigger(tamer::bind(make_event(l), 9));             // C4
    c = tamer::distribute(std::move(c), make_event(i));
    a.trigger(5);
    b.trigger(6);
    check(l == 9);
    c.trigger(7);
  }
  check(j == 5 && k == 6 && i == 7);
  twait {
    a = make_event(j);
    a += make_event(k);
    a.unblock();                                // C1
  }
  check(j == 5 && k == 6);
}

tamed void quiet() {
  tvars { int i(0); tamer::event<> kept; }
  twait volatile {                              // E6: no message
    kept = make_event();
    tamer::at_asap(tamer::fun_event([](tamer::event<>* e) { *e = tamer::event<>(); }, &kept));
  }
  i = 1;
  check(i == 1);
}

int main() {
  tamer::initialize();
  states();
  deferred();
  notifiers();
  results();
  combined();
  quiet();
  tamer::loop();
  tamer::cleanup();
  return end_of_checks();
}

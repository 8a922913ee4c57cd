// SPDX-License-Identifier: MIT
// Rules A and R in the dialect: adapters, rendezvous, locks and channels.
// out: all held
#include <tamer/channel.hh>
#include <tamer/lock.hh>
#include <tamer/ref.hh>
#include <tamer/tamer.hh>

#include <csignal>
#include <string>
#include <vector>

#include "check.h"

static int plus_one(int x) { return x + 1; }
static int calls = 0;

tamed void adapters() {
  tvars { int i(1), j(0), outcome(5); tamer::rendezvous<> r; tamer::event<int> e; tamer::event<> b; std::vector<int> v; std::vector<int>::iterator at; }
  twait { tamer::at_asap(tamer::bind(make_event(i), 2)); }         // A1
  check(i == 2);
  b = tamer::bind(e = make_event(r, i), 3);
  e.unblock();
  check(!b && i == 2);
  twait(r);
  tamer::bind(make_event(r, i), 4).unblock();
  check(i == 4);
  twait(r);
  twait { tamer::at_asap(tamer::bind(tamer::map<int>(make_event(i), plus_one), 7)); }   // A2
  check(i == 8);
  twait { tamer::map<int>(make_event(i), plus_one).unblock(); }
  check(i == 8);
  twait { tamer::rebind<std::string>(make_event()).trigger("x"); }  // A3
  check(!tamer::rebind<std::string>(tamer::event<>()));
  twait { with_timeout(1000, make_event(j), outcome).trigger(3); }  // A4
  check(outcome == 0 && j == 3);
  twait { b = with_timeout_msec(5, make_event(), outcome); }
  check(outcome == -ETIMEDOUT && !b);
  twait { e = add_timeout(0.005, make_event(j), 44); }
  check(j == 44);
  twait { e = with_timeout(timeval{0, 5000}, make_event(j)); }
  check(j == 44);
  twait {
    b = with_signal(SIGUSR1, make_event(), outcome);                // A5
    tamer::at_delay_msec(5, tamer::fun_event([] { ::raise(SIGUSR1); }));
  }
  check(outcome == -EINTR);
  tamer::fun_event([](int* n, int by) { *n += by; }, &calls, 2)();  // A6
  check(calls == 2);
  tamer::push_back_event(v).trigger(6);                             // A7
  v.push_back(0);
  at = v.begin() + 1;
  tamer::output_event<int>(at).trigger(9);
  check(v[0] == 6 && v[1] == 9 && at == v.end());
}

static tamer::rendezvous<int> global;                               // R4

tamed void waits_for(tamer::rendezvous<int>& r, std::string* got) {
  tvars { int i; counted c; }
  while (true) {
    twait(r, i);
    *got += char('0' + i);
  }
}

tamed void rendezvous_rules() {
  tvars { tamer::rendezvous<int> r; int i(0); std::string got; tamer::event<> a, b; tamer::rendezvous<int>* made; }
  a = make_event(r, 1);
  b = make_event(r, 2);
  check(r.has_waiting() && !r.has_ready() && r.has_events());       // R2
  check(!r.join(i) && i == 0);
  b();                                                              // R1: remembered, in order
  a();
  check(r.has_ready() && !r.has_waiting());
  check(r.join(i) && i == 2);
  twait(r, i);
  check(i == 1 && !r.has_events());
  a = make_event(r, 3);
  make_event(r, 4)();
  r.clear();                                                        // R3
  check(!a && !r.has_events());
  a();
  check(!r.has_events());
  made = new tamer::rendezvous<int>;
  waits_for(*made, &got);                                           // R5
  a = make_event(*made, 5);
  a();
  twait { tamer::at_asap(make_event()); }
  twait { tamer::at_asap(make_event()); }
  check(got == "5" && counted::live == 1);
  delete made;
  check(counted::live == 0);
  make_event(global, 6)();
  twait(global, i);
  check(i == 6);
}

static tamer::mutex m;
static std::string order;

tamed void writer(char name, int turns, int patience) {
  tvars { int outcome(0); int i; }
  if (patience > 0)
    twait { m.acquire(with_timeout_msec(patience, make_event(), outcome)); }
  else
    twait { m.acquire(make_event()); }
  if (outcome < 0) {
    order += '-';
    return;
  }
  order += name;
  for (i = 0; i < turns; ++i) twait { tamer::at_delay_msec(20, make_event()); }
  m.release();
}
tamed void reader(char name, int turns) {
  tvars { int i; }
  twait { m.acquire_shared(make_event()); }
  order += name;
  for (i = 0; i < turns; ++i) twait { tamer::at_delay_msec(20, make_event()); }
  m.release_shared();
}
tamed void locks(tamer::event<> done) {
  writer('W', 2, 0);
  reader('r', 2);
  reader('s', 2);
  writer('X', 1, 0);                                                // L1: holds back t
  reader('t', 1);
  twait { tamer::at_delay_msec(400, make_event()); }
  check(order == "WrsXt");
  order.clear();
  reader('r', 8);
  writer('X', 1, 40);                                                // L2: gives up
  reader('t', 1);
  twait { tamer::at_delay_msec(400, make_event()); }
  check(order == "r-t");
  done();
}

tamed void channels() {
  tvars { tamer::channel<std::string> c; std::string s, t; tamer::event<std::string> e; tamer::rendezvous<> r; }
  c.push_back("a");
  c.push_back("b");
  c.push_front("0");
  twait { c.pop_front(make_event(s)); c.pop_back(make_event(t)); }  // H1
  check(s == "0" && t == "b" && c.size() == 1);
  twait { c.pop_front(make_event(s)); }
  {
    tamer::rendezvous<> gone;
    c.pop_front(make_event(gone, s));
  }
  twait {
    c.pop_front(make_event(t));
    c.push_back("live");
  }
  check(t == "live" && c.empty() && s == "a");
}

struct shared_thing : tamer::enable_ref_ptr, counted {};

tamed void references() {
  tvars { tamer::ref_ptr<shared_thing> a(new shared_thing), b; tamer::passive_ref_ptr<shared_thing> p(a); }
  b = a;
  a = tamer::ref_ptr<shared_thing>();
  check(p && p.get() == b.get() && counted::live == 1);
  b = a;
  check(!p && counted::live == 0);
}

tamed void everything() {
  rendezvous_rules();
  twait { tamer::at_delay_msec(2, make_event()); }
  twait { locks(make_event()); }
  channels();
  references();
  adapters();
}

int main() {
  tamer::initialize();
  everything();
  tamer::loop();
  tamer::cleanup();
  return end_of_checks();
}

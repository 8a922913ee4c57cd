// SPDX-License-Identifier: MIT
// Rule K6 in the dialect: functions that end with an object, in each state that they can be in.
// out: all held
#include <tamer/tamer.hh>

#include <memory>
#include <string>

#include "check.h"

static std::string trace;

class actor : public tamer::tamed_class {
 public:
  explicit actor(char name) : name_(name) {}
  tamed void wait(tamer::rendezvous<>& r, tamer::event<>* to) {
    tvars { counted c; }
    twait {
      *to = make_event();
    }
    trace += name_;
    (void)r;
  }
  tamed void wait_one(tamer::event<>* to) {
    tvars { counted c; tamer::rendezvous<int> r; int i; }
    *to = make_event(r, 1);
    twait(r, i);
    trace += name_;
  }
  tamed void kill_itself() {
    tvars { counted c; char kept = name_; }
    twait { tamer::at_asap(make_event()); }
    delete this;
    trace += kept;                              // it runs on
    twait { tamer::at_asap(make_event()); }
    trace += '!';
  }

 private:
  char name_;
};

tamed void blocked_and_queued() {
  tvars { tamer::event<> e, f, g; tamer::rendezvous<> r; actor* a; }
  a = new actor('a');
  a->wait(r, &e);
  a->wait_one(&f);
  a->wait(r, &g);
  check(counted::live == 3);
  g.trigger();                                  // its wake stands in the queue
  delete a;
  check(counted::live == 0 && !e && !f);        // silently, all three
  e.trigger();
  twait { tamer::at_asap(make_event()); }
  check(trace.empty());
}

tamed void copies() {
  tvars { tamer::event<> e, f; tamer::rendezvous<> r; std::unique_ptr<actor> a, b; }
  a.reset(new actor('a'));
  a->wait(r, &e);
  b.reset(new actor(*a));                       // a copy has no functions
  b.reset();
  check(counted::live == 1 && e);
  e.trigger();
  twait { tamer::at_asap(make_event()); }
  twait { tamer::at_asap(make_event()); }
  check(trace == "a" && counted::live == 0);
  trace.clear();
  (new actor('k'))->kill_itself();
  for (int i = 0; i < 4; ++i) twait { tamer::at_asap(make_event()); }
  check(trace == "k!" && counted::live == 0);
  trace.clear();
}

tamed void guarded(actor* one, actor* two) {
  tvars { counted c; tamer::destroy_guard g(one), h(*two); }
  twait { tamer::at_delay_msec(1, make_event()); }
  trace += "x";
  twait { tamer::at_delay_msec(50, make_event()); }
  trace += "y";
}

tamed void guards() {
  tvars { actor* a(new actor('a')); actor* b(new actor('b')); }
  guarded(a, b);
  twait { tamer::at_delay_msec(10, make_event()); }
  check(trace == "x" && counted::live == 1);
  delete b;                                     // either of them ends it
  check(counted::live == 0);
  delete a;
}

tamed void everything() {
  blocked_and_queued();
  twait { tamer::at_delay_msec(1, make_event()); }
  copies();
  twait { tamer::at_delay_msec(1, make_event()); }
  guards();
}

int main() {
  tamer::initialize();
  everything();
  tamer::loop();
  // An object that outlives the loop: its functions end with cleanup().
  actor last('l');
  tamer::event<> e;
  last.wait_one(&e);
  check(counted::live == 1);
  tamer::cleanup();
  check(counted::live == 0 && !e);
  return end_of_checks();
}

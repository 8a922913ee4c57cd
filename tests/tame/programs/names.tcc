// SPDX-License-Identifier: MIT
// Names, references to descriptors, monitors of objects, values in place and rvolatile.
// out: all held
#include <arpa/inet.h>
#include <tamer/dns.hh>
#include <tamer/fd.hh>
#include <tamer/ref.hh>
#include <tamer/tamer.hh>

#include <string>
#include <tuple>

#include "check.h"

template <typename R> void quick(tamer::preevent<R, int> e) { e(4); }

tamed void deduced(tamer::event<> done) {
  tvars { int i(0); }
  twait { quick(make_event(i)); }
  assert(i == 4);  // from <tamer/tamer.hh>, as programs have it
  check(i == 4);
  done();
}

tamed void names(tamer::event<> done) {
  tvars {
    tamer::dns::reply here, number, nowhere, name, late;
    tamer::resolver ask(DNS_OPTIONS_ALL);
    struct in_addr loopback;
    int outcome;
  }
  loopback.s_addr = htonl(INADDR_LOOPBACK);
  check(!here && here.error() == -1 && here.addrcount() == 0 && here[0] == 0);
  twait {
    tamer::gethostbyname("localhost", DNS_QUERY_SEARCH, make_event(here));
    ask.resolve_ipv4("10.1.2.3", 0, make_event(number));
    tamer::gethostbyname("no-such-name.invalid", make_event(nowhere));
    tamer::gethostbyaddr(&loopback, make_event(name));
  }
  check(here && here.addrcount() >= 1 && here[0] == loopback.s_addr);
  check(number && number.addrcount() == 1 && number[0] == inet_addr("10.1.2.3"));
  check(number->addrs.size() == 1 && *number);
  check(!nowhere && nowhere.error() != DNS_ERR_NONE && nowhere.addrcount() == 0);
  check(name ? !name.name().empty() : name.error() == DNS_ERR_NOTEXIST);
  twait { tamer::gethostbyname("localhost", with_timeout(100.0, make_event(late), outcome)); }
  check(outcome == 0 && late);
  done();
}

tamed void descriptors(tamer::event<> done) {
  tvars { tamer::fd r, w, again; tamer::fdref weak, strong; tamer::event<> close; int result(1); char c; }
  check(tamer::fd::pipe(r, w) == 0);
  weak = tamer::fdref(w, tamer::fdref::weak);
  strong = tamer::fdref(r);
  check(weak.valid() && weak.fdnum() == w.fdnum() && strong.value() == r.value());
  again = weak.get();
  check(again == w);
  again = tamer::fd();
  w = tamer::fd();  // the last that keeps it open
  check(!weak && weak.error() == -EBADF && !weak.get());
  r = tamer::fd();
  check(strong && strong.get().valid());
  twait { strong.get().read(&c, 1, make_event(result)); }  // the other end is closed
  check(result == 0);
  close = strong.get().closer();
  check(close);
  close();
  check(!strong && !close);
  check(!strong.get().closer());
  check(tamer::fd::pipe(r, w) == 0);
  twait { r.close(make_event(result)); }
  check(result == 0 && !r);
  twait { r.close(make_event(result)); }
  check(result == -EBADF);
  done();
}

struct watched {
  tamer::ref life;
};
struct released : tamer::enable_ref_ptr_with_full_release<released>, counted {
  inline static int times = 0;
  void full_release() { ++times; }
};

static void lifetimes() {
  watched* const w = new watched;
  tamer::ref_monitor first(w->life);
  {
    tamer::ref_monitor second(w->life);
    check(first && second && !second.empty());
  }
  check(first && !first.empty());
  delete w;
  check(!first && first.empty());
  {
    tamer::ref_ptr<released> p(new released);
    tamer::ref_ptr<released> q(p);
  }
  check(released::times == 1 && released::live == 0);
}

tamed void values(tamer::event<> done) {
  tvars { int i(0); std::string s; tamer::event<int, std::string> both; tamer::event<std::string> text; tamer::rendezvous<> r, quiet(tamer::rvolatile), loud(tamer::rnormal); }
  twait {
    both = make_event(i, s);
    check(both.has_result() && both.result_pointer() == &i && &both.result<1>() == &s);
    both.result<1>() = "in place";  // filled before it is told
    both.unblock();
    check(!both.has_result() && both.result_pointer<1>() == NULL);
  }
  check(i == 0 && s == "in place");
  twait { make_event(i, s).tuple_trigger(std::make_tuple(3, std::string("three"))); }
  check(i == 3 && s == "three");
  text = tamer::map<std::string>(make_event(r, s), [](std::string x) { return x + "!"; });
  check(!text.has_result());
  text("mapped");
  twait(r);
  check(s == "mapped!");
  make_event(quiet);  // dropped: it fires, and nothing is reported
  twait(quiet);
  make_event(loud)();
  twait(loud);
  done();
}

tamed void everything() {
  twait { deduced(make_event()); }
  twait { names(make_event()); }
  twait { descriptors(make_event()); }
  lifetimes();
  twait { values(make_event()); }
}

int main() {
  tamer::initialize();
  everything();
  tamer::loop();
  tamer::cleanup();
  return end_of_checks();
}

// SPDX-License-Identifier: MIT
// Tame source: the paper's multidns in four forms (section 3.2), one behind the other, all at once,
// and with a window, beside what it replaces. The resolver is made up: a name takes as many
// milliseconds as it has letters. `heddle tame examples/tame_multidns.tcc` shows what porting it
// for good changes.
// out: ripped: 3 5 7, at most 1 at once
// out: serial: 3 5 7, at most 1 at once
// out: parallel: 3 5 7, at most 3 at once
// out: windowed: 3 5 7, at most 2 at once
#include <tamer/tamer.hh>

#include <cstdio>
#include <string>

using namespace tamer;

typedef std::string dnsname;
typedef int ipaddr;

static int pending = 0, most = 0;

tamed void gethost_ev(dnsname name, event<ipaddr> e) {
  if (++pending > most) most = pending;
  twait { at_delay_msec((int)name.size(), make_event()); }
  --pending;
  e.trigger((int)name.size());
}

// What Tame replaces: one function torn into two, tied by callbacks.
static void helper(const dnsname* name, ipaddr* a, int n, event<> done, ipaddr result);
static void multidns_ripped(const dnsname* name, ipaddr* a, int n, event<> done) {
  if (n > 0)
    gethost_ev(name[0], fun_event<ipaddr>(helper, name, a, n, done));
  else
    done.trigger();
}
static void helper(const dnsname* name, ipaddr* a, int n, event<> done, ipaddr result) {
  *a = result;
  multidns_ripped(name + 1, a + 1, n - 1, done);
}

tamed void multidns_serial(const dnsname* name, ipaddr* a, int n, event<> done) {
  tvars { int i; }
  for (i = 0; i < n; i++)
    twait { gethost_ev(name[i], make_event(a[i])); }
  done.trigger();
}

tamed void multidns_parallel(const dnsname* name, ipaddr* a, int n, event<> done) {
  twait {
    for (int i = 0; i < n; i++) gethost_ev(name[i], make_event(a[i]));
  }
  done.trigger();
}

static const int window = 2;

tamed void multidns_windowed(const dnsname* name, ipaddr* a, int n, event<> done) {
  tvars { int sent(0), received(0); rendezvous<> r; }
  while (received < n)
    if (sent < n && sent - received < window) {
      gethost_ev(name[sent], make_event(r, a[sent]));
      sent++;
    } else {
      twait(r);
      received++;
    }
  done.trigger();
}

static void report(const char* how, ipaddr* a) {
  printf("%s: %d %d %d, at most %d at once\n", how, a[0], a[1], a[2], most);
  a[0] = a[1] = a[2] = most = 0;
}

tamed void program() {
  tvars { dnsname names[3]; ipaddr a[3]; }
  names[0] = "one";
  names[1] = "three";
  names[2] = "seventy";
  twait { multidns_ripped(names, a, 3, make_event()); }
  report("ripped", a);
  twait { multidns_serial(names, a, 3, make_event()); }
  report("serial", a);
  twait { multidns_parallel(names, a, 3, make_event()); }
  report("parallel", a);
  twait { multidns_windowed(names, a, 3, make_event()); }
  report("windowed", a);
}

int main() {
  tamer::initialize();
  program();
  tamer::loop();
  tamer::cleanup();
}

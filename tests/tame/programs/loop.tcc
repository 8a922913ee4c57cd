// SPDX-License-Identifier: MIT
// Rules D in the dialect: the loop, timers in virtual time, signals, fork.
// out: all held
#include <sys/wait.h>
#include <tamer/fd.hh>
#include <tamer/tamer.hh>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "check.h"

static std::string order;

tamed void at(double when, char name) {
  twait { tamer::at_delay(when, make_event()); }
  order += name;
}
tamed void soon(char name) {
  twait { tamer::at_asap(make_event()); }
  order += name;
}

tamed void times() {
  tvars { double start = tamer::dnow(); tamer::event<> e; tamer::rendezvous<> r; }
  check(start >= 1000000000 && start < 1000000001);     // D4
  at(3000, 'c');
  at(1000, 'a');
  at(1000, 'b');                                        // D3: ties in order
  at(4000, 'd');
  e = make_event(r);
  tamer::at_delay(500, e);
  e();                                                  // D3: skipped
  soon('1');
  soon('2');                                            // D2
  at(-1, '3');
  twait { tamer::at_delay(5000, make_event()); }
  check(order == "123abcd");
  check(tamer::dnow() - start >= 5000 && tamer::dnow() - start < 5001);
  check(tamer::recent().tv_sec >= 1000005000);
}

tamed void recent_moves() {
  tvars { double before = tamer::drecent(); }
  twait { tamer::at_delay(100, make_event()); }
  check(tamer::drecent() - before >= 100);              // the turn moved it, no reading did
}

tamed void preblock() {
  tvars { bool before(false); }
  tamer::at_preblock(tamer::fun_event([](bool* b) { *b = true; }, &before));   // D6
  twait { tamer::at_delay_msec(1, make_event()); }
  check(before);
}

tamed void reporter(int* reports) {                     // D6: one that arms itself again
  while (true) {
    twait volatile { tamer::at_preblock(make_event()); }
    if (++*reports == 1000) std::abort();               // the loop does not sleep any more
  }
}

tamed void sleeper(int* reports) {
  tvars { int before; }
  twait { tamer::at_delay_msec(1, make_event()); }
  before = *reports;
  twait { tamer::at_delay_msec(1, make_event()); }
  check(*reports > before);                             // one before each sleep
}

void turns_of_virtual_time() {                          // as tamer's t26 expects them
  tamer::rendezvous<> r;
  tamer::at_delay_msec(11, r.make_event());
  tamer::at_delay_msec(4, r.make_event());
  tamer::once();
  check(tamer::recent().tv_usec == 4002);
  tamer::once();
  check(tamer::recent().tv_usec == 11002);
  check(tamer::now().tv_usec == 11003);
  check(tamer::recent().tv_usec == 11003);
}

tamed void signals() {
  tvars { int i(0); }
  while (i < 3) {
    twait {
      tamer::at_signal(SIGUSR1, make_event());          // D5: armed again, none is lost
      ::kill(::getpid(), SIGUSR1);
    }
    ++i;
  }
  check(i == 3);
}

tamed void never_ends() {
  tvars { counted c; tamer::event<> e; tamer::rendezvous<> r; }
  e = make_event(r);
  twait(r);
}

tamed void breaker() {
  twait { tamer::at_delay_msec(1, make_event()); }
  tamer::break_loop();
  twait { tamer::at_delay_msec(1, make_event()); }
  order += '.';
}

tamed void blocked(tamer::event<>* e) {
  twait ["for a " + std::string("reason")] { *e = make_event(); }
}

tamed void talk(tamer::fd from, tamer::fd to, char c) {
  tvars { char got(0); size_t n; int r; }
  twait { to.write(&c, 1, n, make_event(r)); }
  twait { from.read(&got, 1, n, make_event(r)); }
  if (r == 0 && n == 1) order += got;
}

int main() {
  setenv("HEDDLE_TAME_DESCRIBE", "1", 1);
  tamer::initialize();
  tamer::set_time_type(tamer::time_virtual);
  turns_of_virtual_time();
  times();
  recent_moves();
  tamer::loop();                                        // D1
  tamer::cleanup();

  tamer::initialize();
  int reports = 0;
  reporter(&reports);
  sleeper(&reports);
  tamer::loop();
  tamer::cleanup();

  tamer::initialize();
  preblock();
  signals();
  tamer::loop();
  order.clear();
  breaker();
  tamer::loop();
  check(order.empty());
  tamer::loop();
  check(order == ".");

  tamer::event<> e;
  blocked(&e);
  std::vector<std::string> where;
  tamer::driver::main->blocked_locations(where);        // T4
  check(where.size() == 1 && where[0].find("loop.tcc:111 for a reason") != std::string::npos);
  e();
  tamer::loop();
  tamer::at_delay(100, e = tamer::event<>());
  check(tamer::driver::main->next_wake().tv_sec == -1);

  // fork() in the middle: both sides go on.
  order.clear();
  tamer::fd a, b, c, d;
  tamer::fd::pipe(a, b);
  tamer::fd::pipe(c, d);
  talk(a, d, 'p');                                      // waits already
  const pid_t child = ::fork();
  if (child == 0) {
    a.close();
    talk(c, b, 'k');
    tamer::loop();
    ::_exit(order == "p" ? 0 : 1);
  }
  c.close();
  tamer::loop();
  int status = -1;
  ::waitpid(child, &status, 0);
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0 && order == "k");

  never_ends();
  check(counted::live == 1);
  tamer::cleanup();                                     // D8
  check(counted::live == 0);
  return end_of_checks();
}

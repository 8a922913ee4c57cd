// SPDX-License-Identifier: MIT
// Colors and workers: a closure has the color of its caller, values of triggers travel to the color
// that made the event, and descriptors, timers and signals work in every color. Run with several
// numbers of workers.
// workers: 1 2 4
// out: all held
#include <tamer/fd.hh>
#include <tamer/tamer.hh>

#include <cerrno>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"

using namespace tamer;

static bool runs_in(int number) {
  heddle::worker& w = heddle::worker::here();
  return w.color == w.place_of(number);
}

// The color of the caller.
tamed static void deeper(int number, event<bool> done) {
  tvars { bool right(runs_in(number)); }
  twait { at_delay_msec(1, make_event()); }
  done(right && runs_in(number));
}
tamed static void callee(int number, event<bool> done) {
  tvars { bool right; }
  twait { deeper(number, make_event(right)); }
  done(right && runs_in(number));
}

// Values of a trigger: a string and a pointer that only moves.
static void answer(std::string text, event<std::string> first, event<std::unique_ptr<int>> second) {
  first(text + ", answered");
  second(std::make_unique<int>(42));
}

// Data of a color has no lock.
static int seen[8];
static void count(int number, event<> done) {
  ++seen[number];
  done();
}
tamed static void counting(event<> done) {
  tvars { int i; }
  twait {
    for (i = 0; i < 8000; ++i) in_color(color(i % 8 + 1), count, i % 8, make_event());
  }
  for (i = 0; i < 8; ++i) check(seen[i] == 1000);
  done();
}

// A descriptor moves to another color, and is closed by its last handle.
tamed static void echo(fd f) {
  tvars { char text[64]; size_t n; int r(0); bool right(runs_in(100 + f.value())); }
  while (r == 0) {
    twait { f.read_once(text, sizeof text, n, make_event(r)); }
    if (r != 0 || n == 0) break;
    twait { f.write(text, n, make_event(r)); }
  }
  check(right);
}
tamed static void ask(fd f, int number, event<> done) {
  tvars { std::string said("number " + std::to_string(number)); char heard[64]; size_t n; int r, i; }
  for (i = 0; i < 20; ++i) {
    twait { f.write(said, make_event(r)); }
    twait { f.read(heard, said.size(), n, make_event(r)); }
    if (std::string(heard, n) != said) check(!"the echo is another text");
  }
  done();
}
tamed static void many_echoes(event<> done) {
  tvars { int i; fd theirs, ours; }
  twait {
    for (i = 0; i < 40; ++i) {
      check(fd::socketpair(AF_UNIX, SOCK_STREAM, 0, theirs, ours) == 0);
      in_color(color(100 + theirs.value()), echo, theirs);
      in_color(color(i % 5), ask, ours, i, make_event());
    }
  }
  done();
}

// A descriptor is closed while it is waited for, perhaps on another worker than the one that began
// to wait: a busy color moves.
tamed static void accepts(fd door, event<int> done) {
  tvars { fd got; }
  twait { door.accept(make_event(got)); }
  done(got.error());
}
tamed static void closes_while_waiting(event<> done) {
  tvars { fd door(tcp_listen(0)); int error(0), number(door.value()); rendezvous<> r; double until; }
  check(number >= 0);
  accepts(door, make_event(r, error));
  twait { at_delay_msec(1, make_event()); }
  until = dnow() + 1e-4;
  while (dnow() < until) {}
  door.close();
  twait(r);
  check(error == -ECANCELED || error == -EBADF);
  done();
}
tamed static void many_closes(event<> done) {
  tvars { int i; }
  twait {
    for (i = 0; i < 200; ++i) in_color(color(40 + i % 50), closes_while_waiting, make_event());
  }
  done();
}

// Timers and signals of another color.
tamed static void times(event<double> done) {
  tvars { double before(dnow()); }
  twait { at_delay_msec(5, make_event()); }
  done(dnow() - before);
}
tamed static void waits_for_signal(event<> ready, event<> done) {
  twait {
    at_signal(SIGUSR1, make_event());
    in_color(color(0), [](event<> e) { e(); }, ready);  // behind the message of at_signal()
  }
  check(runs_in(9));
  done();
}

static void throws() { throw std::runtime_error("from color 3"); }

// What waits when the program ends is ended in its color.
tamed static void waits_forever(event<> started) {
  tvars { counted c; }
  started();
  twait volatile { at_delay(1e6, make_event()); }
  check(!"it went on");
}

tamed static void program() {
  tvars { bool right; std::string text; std::unique_ptr<int> number; double took; int i; event<> ready; rendezvous<> r; }
  check(runs_in(0));
  twait { callee(0, make_event(right)); }
  check(right);
  twait { in_color(color(5), callee, 5, make_event(right)); }
  check(right && runs_in(0));
  twait { in_color(color(6), answer, std::string("a question"), make_event(text), make_event(number)); }
  check(text == "a question, answered" && number && *number == 42);
  twait { in_color(color(6), [](int a, event<std::string> e) { e(std::to_string(a)); }, 7, make_event(text)); }
  check(text == "7");
  twait { counting(make_event()); }
  twait { many_echoes(make_event()); }
  twait { many_closes(make_event()); }
  twait { in_color(color(4), times, make_event(took)); }
  check(took >= 0.004 && took < 5);
  twait { in_color(color(9), waits_for_signal, make_event(r), make_event()); twait(r); raise(SIGUSR1); }
  twait { for (i = 0; i < 10; ++i) in_color(color(20 + i), waits_forever, make_event()); }
  check(counted::live == 10);
  in_color(color(3), throws);
}

int main() {
  tamer::initialize(tamer::several_workers);
  program();
  std::string error;
  try {
    tamer::loop();
  } catch (const std::runtime_error& e) {
    error = e.what();
  }
  check(error == "from color 3");
  tamer::cleanup();
  check(counted::live == 0);
  return end_of_checks();
}

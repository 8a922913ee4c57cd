// SPDX-License-Identifier: MIT
// Handlers of signals: parts of the library that take a signal over from each other, and back.
#include "heddle/base/detail/signal_handlers.hh"

#include <signal.h>

#include <array>

#include "support/test.hh"

using namespace heddle::detail;
using enum signal_part;

namespace {

constexpr int number = SIGUSR2;
std::array<int, 3> came;  // for the program, dumps, listeners
signal_fate fate = signal_fate::taken;

void note_as_program(int) { ++came[0]; }
signal_fate note_as_dumps(const signal_arrival& a) noexcept {
  came[1] += a.number == number && !a.by_timer ? 1 : 100;
  return fate;
}
signal_fate note_as_listeners(const signal_arrival&) noexcept {
  ++came[2];
  return signal_fate::taken;
}

/// Raises the signal, and gives the counts since the last call.
std::array<int, 3> raised() {
  came = {};
  ::raise(number);
  return came;
}

using counts = std::array<int, 3>;

}  // namespace

HEDDLE_TEST(signal_handlers, "a later part takes a signal over, and gives it back") {
  ::signal(number, SIG_IGN);
  install_handler_if_free(dumps, number, &note_as_dumps);
  EXPECT_EQ(raised(), (counts{0, 1, 0}));
  EXPECT_EQ(install_handler(listeners, number, &note_as_listeners), 0);
  EXPECT_EQ(install_handler(listeners, number, &note_as_listeners), 0);  // changes nothing
  EXPECT_EQ(raised(), (counts{0, 0, 1}));
  restore_action(dumps, number, false);  // it is not theirs now
  EXPECT_EQ(raised(), (counts{0, 0, 1}));
  restore_action(listeners, number, true);
  EXPECT_EQ(raised(), (counts{0, 1, 0}));
  restore_action(dumps, number, false);
  EXPECT_EQ(raised(), (counts{0, 0, 0}));
  ::signal(number, SIG_DFL);
}

HEDDLE_TEST(signal_handlers, "a program's own handler stays, or gets the signal back") {
  ::signal(number, &note_as_program);
  install_handler_if_free(dumps, number, &note_as_dumps);
  EXPECT_EQ(raised(), (counts{1, 0, 0}));
  EXPECT_EQ(install_handler(dumps, number, &note_as_dumps), 0);
  fate = signal_fate::given_back;
  EXPECT_EQ(raised(), (counts{1, 1, 0}));
  fate = signal_fate::taken;
  EXPECT_EQ(raised(), (counts{1, 0, 0}));
  EXPECT_EQ(install_handler(dumps, number, &note_as_dumps), 0);
  ::signal(number, &note_as_program);
  restore_action(dumps, number, false);  // the program has changed the action since
  EXPECT_EQ(raised(), (counts{1, 0, 0}));
  ::signal(number, SIG_DFL);
  EXPECT_NE(install_handler(listeners, SIGKILL, &note_as_listeners), 0);
}

HEDDLE_TEST(signal_handlers, "a signal waits while handlers are held off") {
  EXPECT_EQ(install_handler(listeners, number, &note_as_listeners), 0);
  {
    const signals_held_off quiet;
    EXPECT_EQ(raised(), (counts{0, 0, 0}));
  }
  EXPECT_EQ(came, (counts{0, 0, 1}));
  {
    const signals_held_off quiet;
    ::raise(number);
    restore_action(listeners, number, false);
  }
  wait_for_handlers(listeners);
  EXPECT_EQ(came, (counts{0, 0, 1}));  // the pending one was dropped
}

// SPDX-License-Identifier: MIT
// Tame source that is built outside of the tree: a timer and a wait.
#include <tamer/tamer.hh>

#include <cstdio>

tamed void pause(int msec, tamer::event<int> done) {
  twait { tamer::at_delay_msec(msec, make_event()); }
  done(msec);
}

tamed void program() {
  tvars { int slept; }
  twait { pause(1, make_event(slept)); }
  std::printf("package: tamed, slept %d ms\n", slept);
}

int main() {
  tamer::initialize();
  program();
  tamer::loop();
  tamer::cleanup();
}

// SPDX-License-Identifier: MIT
// A second program of the same library, with a plan of its own that has the shape of
// main_test.cc's: as many topics, handlers and sequences, and other names. With an argument it uses
// the library, too.
#include <cstdio>

#include "parts.hh"

struct bar_begins : heddle::topic<int> {};
struct beat : heddle::topic<int> {};

struct drummer {
  void count(int) { ++bars; }
  void play(int beats) {
    for (int i = 0; i < beats; ++i) b.raise<beat>(i);
  }
  void strike(int) { ++strikes; }
  heddle::bus& b;
  long bars = 0;
  long strikes = 0;
};

int main(int argc, char**) {
  heddle::bus b;
  drummer d{b};
  b.bind<bar_begins, &drummer::count>(&d, 10);
  b.bind<bar_begins, &drummer::play>(&d, 20);
  b.bind<beat, &drummer::strike>(&d, 10);
  for (int i = 0; i < 1000; ++i) b.raise<bar_begins>(4);
  std::printf("%ld bars, %ld beats, %zu and %zu handlers merged\n", d.bars, d.strikes,
              b.merged<bar_begins>(), b.merged<beat>());
  if (argc == 1) return 0;
  totals t;
  bind_counters(b, t);
  for (int i = 0; i < 1000; ++i) b.raise<word_read>("warp");
  std::printf("%ld words, %ld bytes\n", t.words, t.bytes);
}

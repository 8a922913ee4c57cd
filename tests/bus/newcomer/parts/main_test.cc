// SPDX-License-Identifier: MIT
// A program whose handlers stand in a static library (parts_test.cc), as tests/bus/newcomer/run
// builds it against the installed package.
#include <cstdio>

#include "parts.hh"

int main() {
  heddle::bus b;
  totals t;
  bind_counters(b, t);
  for (int i = 0; i < 1000; ++i) b.raise<word_read>("warp");
  std::printf("%ld words, %ld bytes, %zu and %zu handlers merged\n", t.words, t.bytes,
              b.merged<word_read>(), b.merged<byte_read>());
}

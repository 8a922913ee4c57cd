// SPDX-License-Identifier: MIT
// The library's handlers: one counts words, one raises each byte of a word, and one counts those.
// Nobody outside knows them.
#include "parts.hh"

namespace {

struct counter {
  void word(std::string_view) { ++t.words; }
  void bytes(std::string_view text) {
    for (const char c : text) b.raise<byte_read>(c);
  }
  void byte(char) { ++t.bytes; }
  heddle::bus& b;
  totals& t;
};

}  // namespace

void bind_counters(heddle::bus& b, totals& t) {
  auto* const c = new counter{b, t};  // as long as the program
  b.bind<word_read, &counter::word>(c, 10);
  b.bind<word_read, &counter::bytes>(c, 20);
  b.bind<byte_read, &counter::byte>(c, 10);
}

// SPDX-License-Identifier: MIT
// A peer that knows the numbers and chooses near their edges, against a stack: the invariants of
// tests/tcp/model.hh hold whatever it chooses.
#include "tests/tcp/model.hh"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  heddle::tcp::test::model m(data, size);
  m.run();
  return 0;
}

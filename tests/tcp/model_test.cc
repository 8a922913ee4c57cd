// SPDX-License-Identifier: MIT
// A model peer against the stack with random choices: nothing that must hold breaks, for many
// seeds. fuzz/tcp_stack_fuzz.cc lets a fuzzer choose.
#include "tests/tcp/model.hh"

#include <random>

#include "support/test.hh"

HEDDLE_TEST(tcp_model, "a peer at the edges of what is right breaks no invariant") {
  std::uint64_t received = 0, sent = 0;
  for (unsigned seed = 1; seed <= 1500 / heddle::tcp::test::slower; ++seed) {
    std::mt19937 random(seed);
    std::vector<std::uint8_t> choices(50 + random() % 1500);
    for (auto& c : choices) c = static_cast<std::uint8_t>(random());
    heddle::tcp::test::model m(choices.data(), choices.size());
    SCOPED_TRACE(seed);
    m.run();
    received += m.received_bytes();
    sent += m.sent_bytes();
  }
  // The choices reach what they are for.
  EXPECT_GT(received, 1'000'000u / heddle::tcp::test::slower);
  EXPECT_GT(sent, 1'000'000u / heddle::tcp::test::slower);
}

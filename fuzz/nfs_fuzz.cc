// SPDX-License-Identifier: MIT
// Any bytes into a server of apps/nfs over a volume in memory, in the simulated world: each call
// that can be read gets one legal reply, and the tree holds together. If the first byte is even,
// the rest is what a client sends; otherwise each eight bytes are the seed of a few records.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "heddle/sched/runtime.hh"
#include "heddle/sim/driver.hh"
#include "tests/apps/nfs_records.hh"

namespace {

using nfs::test::record_world;

void demand(bool condition) {
  if (!condition) std::abort();
}

heddle::task<> feed_all(std::string input) {
  const bool raw = input[0] % 2 == 0;
  input.erase(0, 1);
  if (raw) {
    record_world w(1);
    const std::string wrong = co_await w.feed(std::move(input));
    demand(wrong.empty());
    co_return;
  }
  std::unique_ptr<record_world> w;
  for (std::size_t at = 0; at + 8 <= input.size() && at < 80; at += 8) {
    std::uint64_t seed = 0;
    std::memcpy(&seed, input.data() + at, sizeof seed);
    if (!w) w = std::make_unique<record_world>(seed);
    std::string bytes;
    for (std::uint64_t n = 1 + seed % 8; n != 0; --n) bytes += w->make();
    const std::string wrong = co_await w->feed(std::move(bytes));
    demand(wrong.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  heddle::runtime rt(std::make_unique<heddle::sim_driver>(), {});
  rt.run(feed_all(std::string(reinterpret_cast<const char*>(data), size)));
  return 0;
}

// SPDX-License-Identifier: MIT
// Generated records, whole and damaged, against a server in the simulation: each call that can be
// read gets one legal reply, and the tree holds together. HEDDLE_NFS_RECORDS=1000000 makes a long
// run of it.
#include "nfs_records.hh"

#include <cstdlib>

#include "heddle/heddle.hh"
#include "support/drivers.hh"

namespace nfs::test {
namespace {

std::uint64_t records_wanted() {
  const char* const given = std::getenv("HEDDLE_NFS_RECORDS");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20'000;
}

heddle::task<> feed_records(record_world& w, std::uint64_t seed, std::uint64_t count) {
  heddle::xdr::generator draw(seed);
  while (count != 0) {
    std::string bytes;
    for (std::uint64_t n = 1 + draw.below(10); n != 0 && count != 0; --n, --count)
      bytes += w.make();
    const std::string wrong = co_await w.feed(bytes);
    EXPECT_EQ(wrong, "") << "seed " << seed << ", " << count << " records left";
    if (!wrong.empty()) co_return;
  }
}

HEDDLE_TEST(nfs_records, "each generated call, whole or damaged, gets a legal reply") {
  record_world w(5);
  heddle::runtime_options o;
  o.report = [](const heddle::diagnostic& d) { ADD_FAILURE() << to_string(d); };
  heddle::runtime rt(std::make_unique<heddle::sim_driver>(), o);
  const std::uint64_t count = records_wanted();
  rt.run(feed_records(w, 5, count));
  EXPECT_GT(w.calls, count / 3);
  for (std::uint32_t procedure = 0; procedure != 22; ++procedure)
    EXPECT_GT(w.results[procedure], count / 400) << "procedure " << procedure;
  for (const std::uint32_t procedure :
       {1u, 2u, 3u, 4u, 6u, 7u, 8u, 9u, 10u, 12u, 13u, 14u, 15u, 16u, 17u, 18u, 19u, 20u, 21u})
    EXPECT_GT(w.statuses[procedure][nfsstat3::NFS3_OK], 0u) << "procedure " << procedure;
  EXPECT_GE(w.refusals.size(), 3u);
}

}  // namespace
}  // namespace nfs::test

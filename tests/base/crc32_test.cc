// SPDX-License-Identifier: MIT
// CRC-32: published values, and checksums that are continued.
#include "heddle/base/crc32.hh"

#include <string>

#include "support/test.hh"

namespace heddle::test {
namespace {

HEDDLE_TEST(crc32, "checksums are those of zip and gzip") {
  EXPECT_EQ(crc32(""), 0U);
  EXPECT_EQ(crc32("123456789"), 0xcbf43926U);  // the check value of the CRC-32 catalogue
  EXPECT_EQ(crc32("The quick brown fox jumps over the lazy dog"), 0x414fa339U);
  EXPECT_EQ(crc32(std::string(32, '\xff')), 0xff6cab0bU);
  static_assert(crc32("a") == 0xe8b7be43U);
}

HEDDLE_TEST(crc32, "a checksum that is continued is that of all the bytes") {
  const std::string text = "heddle keeps the threads apart";
  for (std::size_t at = 0; at <= text.size(); ++at)
    EXPECT_EQ(crc32(text.substr(at), crc32(text.substr(0, at))), crc32(text)) << at;
}

}  // namespace
}  // namespace heddle::test

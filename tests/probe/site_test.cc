// SPDX-License-Identifier: MIT
// Source lines in 32 bits, histograms, JSON text.
#include "heddle/probe/site.hh"

#include <string>

#include "heddle/probe/histogram.hh"
#include "heddle/probe/json.hh"
#include "support/test.hh"

using namespace heddle;

HEDDLE_TEST(site, "a site resolves to the very file, line and function") {
  const site here = site_of(std::source_location::current());
  const unsigned line = __LINE__ - 1;
  const source_line found = resolve_site(here);
  EXPECT_EQ(found.line, line);
  EXPECT_NE(std::string(found.file).find("site_test.cc"), std::string::npos);
  EXPECT_EQ(resolve_site(here | site_flag_mask).line, line);  // flags do not disturb it
}

HEDDLE_TEST(site, "an unknown site says so") {
  EXPECT_EQ(resolve_site(0).line, 0u);
  EXPECT_EQ(to_string(resolve_site(0)), "?");
}

HEDDLE_TEST(histogram, "a quantile is known to within an eighth") {
  histogram h;
  for (std::uint64_t i = 1; i <= 100'000; ++i) h.record(i);
  EXPECT_NEAR(static_cast<double>(h.quantile(0.5)), 50'000, 50'000 / 8.0);
  EXPECT_NEAR(static_cast<double>(h.quantile(0.99)), 99'000, 99'000 / 8.0);
  EXPECT_EQ(h.count(), 100'000u);
  h.record(~std::uint64_t{0});
  EXPECT_EQ(h.quantile(1.0), ~std::uint64_t{0});
}

HEDDLE_TEST(json, "what must be escaped is") {
  EXPECT_EQ(json_quoted("a\"b\\c\n\x01z"), "\"a\\\"b\\\\c\\u000a\\u0001z\"");
}

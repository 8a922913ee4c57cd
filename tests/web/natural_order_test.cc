// SPDX-License-Identifier: MIT
// Names in natural order, against lists that are in order.
#include "web/natural_order.hh"

#include <string_view>
#include <vector>

#include "support/test.hh"

using heddle::http::natural_less;

HEDDLE_TEST(natural_order, "numbers in names are compared as numbers, equal means the same name") {
  const std::vector<std::string_view> ordered{
      "",       "0",        "00",        "1",       "2",
      "10",     "10a",      "File10",    "a",       "a0",
      "a01",    "a1",       "a01b",      "a1b",     "a2",
      "a2.txt", "a10",      "a10.2",     "a10.10",  "a99999999999999999999999999999999",
      "ab",     "b 1 of 2", "b 1 of 10", "\xc3\xa4"};
  for (std::size_t i = 0; i != ordered.size(); ++i)
    for (std::size_t j = 0; j != ordered.size(); ++j)
      EXPECT_EQ(natural_less(ordered[i], ordered[j]), i < j)
          << '"' << ordered[i] << "\" and \"" << ordered[j] << '"';
}

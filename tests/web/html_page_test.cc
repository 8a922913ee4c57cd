// SPDX-License-Identifier: MIT
// Listings: what ?sort= means, in which order the names stand, and where the links lead.
#include "web/html_page.hh"

#include "support/test.hh"

using namespace heddle;
using namespace heddle::http;

namespace {

std::vector<listed_name> some_names() {
  return {{{"file10", entry_type::file}, 30, 100},
          {{"b", entry_type::directory}, 4096, 200},
          {{"file2", entry_type::file}, 10, 300},
          {{"file1", entry_type::file}, 30, 200},
          {{"a", entry_type::directory}, 4096, 100}};
}

/// The names of a page's list, in order, each followed by a space.
std::string names_of(std::string_view page) {
  std::string names;
  for (auto at = page.find("<b>"); at != page.npos; at = page.find("<b>", at + 1))
    (names += page.substr(at + 3, page.find("</b>", at) - at - 3)) += ' ';
  return names;
}

std::string sorted_page(std::string_view path, std::string_view query) {
  std::vector<listed_name> names = some_names();
  sort_listing(names, listing_sort_of(query));
  return listing_page(path, names, 0, listing_sort_of(query));
}

std::string order(std::string_view query) { return names_of(sorted_page("/", query)); }

bool page_has(std::string_view page, std::string_view text) { return page.find(text) != page.npos; }

}  // namespace

HEDDLE_TEST(page, "a listing is sorted as its query says, folders first") {
  EXPECT_EQ(order(""), "a/ b/ file1 file2 file10 ");
  EXPECT_EQ(order("sort=name"), order(""));
  EXPECT_EQ(order("sort=-name"), "b/ a/ file10 file2 file1 ");
  EXPECT_EQ(order("sort=size"), "a/ b/ file2 file1 file10 ");
  EXPECT_EQ(order("x=1&sort=-size"), "b/ a/ file10 file1 file2 ");
  EXPECT_EQ(order("sort=time"), "a/ b/ file10 file1 file2 ");
  EXPECT_EQ(order("sort=-time"), "b/ a/ file2 file1 file10 ");
  for (const char* unknown : {"sort", "sort=", "sort=-", "sort=color", "sort=-color", "Sort=-name"})
    EXPECT_EQ(order(unknown), order("")) << unknown;
}

HEDDLE_TEST(page, "its links turn the order round, and folders keep it") {
  const std::string plain = listing_page("/x/", some_names(), 0);
  EXPECT_TRUE(page_has(plain, "<a href=\"?sort=-name\">name \u2191</a>")) << plain;
  EXPECT_TRUE(page_has(plain, "<a href=\"?sort=-size\">size</a>"));
  EXPECT_TRUE(page_has(plain, "<a href=\"?sort=-time\">time</a>"));
  EXPECT_TRUE(page_has(plain, "href=\"./a/\""));
  EXPECT_TRUE(page_has(plain, "href=\"../\""));
  const std::string latest = listing_page("/x/", some_names(), 0, listing_sort_of("sort=-time"));
  EXPECT_TRUE(page_has(latest, "<a href=\"?sort=name\">name</a>")) << latest;
  EXPECT_TRUE(page_has(latest, "<a href=\"?sort=time\">time \u2193</a>"));
  EXPECT_TRUE(page_has(latest, "href=\"./a/?sort=-time\""));
  EXPECT_TRUE(page_has(latest, "href=\"../?sort=-time\""));
  EXPECT_TRUE(page_has(latest, "href=\"/x/?sort=-time\""));
  EXPECT_TRUE(page_has(latest, "href=\"./file2\""));
}

// SPDX-License-Identifier: MIT
// Text that is made safe to show.
#include "heddle/base/text.hh"

#include "support/test.hh"

using namespace heddle;

namespace {

HEDDLE_TEST(text, "for markup has entities, and no character that XML forbids") {
  std::string out = "<p>";
  append_markup_text(out, "<a href=\"x\">&'</a>");
  EXPECT_EQ(out, "<p>&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;");
  out.clear();
  append_markup_text(out, std::string_view("a\0\x01\x1f \t\r\n\xc3\xa9", 10));
  EXPECT_EQ(out, "a \t\r\n\xc3\xa9");
}

HEDDLE_TEST(text, "between quotes has neither quotes nor bytes that are not printable") {
  std::string out = "\"";
  append_quotable_text(out, "a \"b\\\n\xff\x7f~");
  EXPECT_EQ(out, R"("a \x22b\x5c\x0a\xff\x7f~)");
}

HEDDLE_TEST(text, "for a line of people is printable ASCII, and cut at its limit") {
  EXPECT_EQ(printable_text("GET /a\r\nb\x1b[2J\xc3\xa9\x7f", 100), "GET /a??b?[2J???");
  EXPECT_EQ(printable_text("abc", 3), "abc");
  EXPECT_EQ(printable_text("abcd", 3), "abc...");
  EXPECT_EQ(printable_text("", 0), "");
}

}  // namespace

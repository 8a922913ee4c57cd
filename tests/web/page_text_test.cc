// SPDX-License-Identifier: MIT
// The language of pages: what its reader refuses and with which words, lines that a tag takes with
// it, and the escape of a value by the point of the HTML at which it lands.
#include "web/page_text.hh"

#include "support/test.hh"

using namespace heddle;
using http::page_escape;

namespace {

/// "LINE: what is wrong"; empty for a good text.
std::string wrong_in(std::string_view text, const http::page_rules& rules = {}) {
  try {
    static_cast<void>(http::read_page(text, rules));
  } catch (const http::page_mistake& e) {
    return std::to_string(e.line) + ": " + e.what();
  }
  return "";
}

/// The escape of the last place of a text; the text must be good.
page_escape escape_of(std::string_view text) {
  const http::page_text read = http::read_page(text, {.files = false});
  page_escape last{};
  for (const http::page_step& each : read.steps)
    if (each.what == http::page_step::kind::place) last = each.escape;
  return last;
}

std::string literal_of(std::string_view text) {
  std::string all;
  for (const http::page_step& each : http::read_page(text).steps)
    all += each.what == http::page_step::kind::text ? each.text : "|";
  return all;
}

std::string escaped(std::string_view value, page_escape how) {
  std::string out;
  http::append_escaped_value(out, value, how);
  return out;
}

}  // namespace

HEDDLE_TEST(page_language, "mistakes are told with their line and what to do") {
  EXPECT_EQ(wrong_in("a\n\n{{#news}}\nb"), "3: {{#news}} is not closed");
  EXPECT_EQ(wrong_in("{{^a}}\n{{/b}}"), "2: {{/b}} comes before the end of {{^a}} of line 1");
  EXPECT_EQ(wrong_in("\n{{/b}}"), "2: {{/b}} closes no section");
  EXPECT_EQ(wrong_in("{{a"), "1: {{ has no }}");
  EXPECT_EQ(wrong_in("{{! a"), "1: {{! has no }}");
  EXPECT_EQ(wrong_in("{{= x = read \"a}}"), "1: {{= has no closing quote");
  EXPECT_EQ(wrong_in("{{= x = read \"a\\\"}}\" }}"), "");
  EXPECT_TRUE(wrong_in("{{= x }}").contains("has no second ="));
  EXPECT_TRUE(wrong_in("{{= x = read \"a\" within 5 }}").contains("'5' is no time; write 50ms"));
  EXPECT_TRUE(wrong_in("{{= x = read \"a\" within 0s }}").contains("is no time"));
  EXPECT_TRUE(wrong_in("{{= x = read \"a\" else y }}").contains("must be a text in double quotes"));
  EXPECT_EQ(wrong_in("{{= x = read \"a\"}}\n{{= x = read \"b\"}}"),
            "2: the source x is already in line 1");
  EXPECT_TRUE(wrong_in("{{> }}").contains("has no path of a file"));
  EXPECT_TRUE(wrong_in("{{> a.page title}}").contains("title has no ="));
  EXPECT_TRUE(wrong_in("{{#a b}}").contains("is no name of a section"));
  std::string deep;
  for (int i = 0; i != 65; ++i) deep += "{{#a}}";
  EXPECT_TRUE(wrong_in(deep).contains("more than 64 levels deep"));
}

HEDDLE_TEST(page_language, "a source has a text, values, a time and a text for its failure") {
  const http::page_text read = http::read_page(
      "{{= w = query \"a \\\"b\\\" $1\" request.query.q \"within\" within 2s else \"none }}\" }}");
  ASSERT_EQ(read.sources.size(), 1u);
  const http::page_source_line& w = read.sources[0];
  EXPECT_EQ(w.kind, "query");
  EXPECT_EQ(w.text, "a \"b\" $1");
  ASSERT_EQ(w.terms.size(), 2u);
  EXPECT_TRUE(w.terms[0].is_name);
  EXPECT_EQ(w.terms[1].text, "within");
  EXPECT_EQ(w.within, std::chrono::seconds(2));
  EXPECT_EQ(w.instead, "none }}");
}

HEDDLE_TEST(page_language, "a tag alone on its line takes the line with it, a place does not") {
  EXPECT_EQ(literal_of("a\n  {{#b}}  \nc\n{{/b}}\nd"), "a\n|c\n|d");
  EXPECT_EQ(literal_of("a\n{{! no\nword }}\nb"), "a\nb");
  EXPECT_EQ(literal_of("  {{= x = read \"a\"}}"), "");
  EXPECT_EQ(literal_of("a {{! b}}\nc"), "a \nc");
  EXPECT_EQ(literal_of("a\n {{b}} \n"), "a\n | \n");
  EXPECT_EQ(literal_of("{{#a}}\r\n{{/a}}\r\nb"), "||b");
}

HEDDLE_TEST(page_language, "a value is escaped for the point of the HTML where it lands") {
  EXPECT_EQ(escape_of("<p>{{a}}"), page_escape::markup);
  EXPECT_EQ(escape_of("<p>{{{a}}}"), page_escape::none);
  EXPECT_EQ(escape_of("<p>{{& a}}"), page_escape::none);
  EXPECT_EQ(escape_of("<!-- <a href=\" -->{{a}}"), page_escape::markup);
  EXPECT_EQ(escape_of("<p title='{{a}}'>"), page_escape::markup);
  EXPECT_EQ(escape_of("<a class=x HREF = \"{{a}}\">"), page_escape::whole_url);
  EXPECT_EQ(escape_of("<a href=\"/x?y={{a}}\">"), page_escape::url_part);
  EXPECT_EQ(escape_of("<a href=\"{{a}}{{b}}\">"), page_escape::url_part);
  EXPECT_EQ(escape_of("<img/src='{{a}}'>"), page_escape::whole_url);
  EXPECT_EQ(escape_of("<script>if (a < 3) f()</script><p>{{a}}"), page_escape::markup);
  EXPECT_EQ(escape_of("<!doctype html><p>1 < 2 {{a}}"), page_escape::markup);
  EXPECT_EQ(escaped("<&>\"'", page_escape::markup), "&lt;&amp;&gt;&quot;&#39;");
  EXPECT_EQ(escaped("/a?b=c&d", page_escape::whole_url), "/a?b=c&amp;d");
  EXPECT_EQ(escaped("HTTPS://a/", page_escape::whole_url), "HTTPS://a/");
  for (const char* bad :
       {"javascript:alert(1)", "java\nscript:x", " javascript:x", "data:text/html,x"})
    EXPECT_EQ(escaped(bad, page_escape::whole_url), "#") << bad;
  EXPECT_EQ(escaped("a b/\"&?", page_escape::url_part), "a%20b/%22%26%3F");
  EXPECT_EQ(escaped("javascript:x'", page_escape::url_part), "javascript%3Ax%27");
}

HEDDLE_TEST(page_language, "a value is refused where no escaping is safe") {
  EXPECT_TRUE(wrong_in("\n<script>x = {{a}}</script>").starts_with("2: {{a}} is in a script"));
  EXPECT_TRUE(wrong_in("<style>{{a}}</style>").contains("is in a style"));
  EXPECT_TRUE(wrong_in("<!-- {{a}} -->").contains("is in a comment"));
  EXPECT_TRUE(wrong_in("<p title={{a}}>").contains("without quotes"));
  EXPECT_TRUE(wrong_in("<p title=b{{a}}>").contains("without quotes"));
  EXPECT_TRUE(wrong_in("<p {{a}}>").contains("inside a tag"));
  EXPECT_TRUE(wrong_in("<{{a}}>").contains("inside a tag"));
  EXPECT_TRUE(wrong_in("<p onclick=\"{{a}}\">").contains("the attribute onclick"));
  EXPECT_TRUE(wrong_in("<a href=\"javascript:f('{{a}}')\">").contains("the attribute href"));
  EXPECT_TRUE(wrong_in("<p {{> a.page}}>").contains("include it in text"));
  EXPECT_TRUE(wrong_in("{{#a}}<p {{/a}}>").contains("different points of the HTML"));
  EXPECT_TRUE(wrong_in("{{#a}}<p title=\"{{/a}}\">").contains("different points of the HTML"));
  EXPECT_TRUE(wrong_in("<p title=\"").contains("ends inside a tag"));
  EXPECT_EQ(wrong_in("<script>x = {{{a}}}</script>"), "");
  EXPECT_EQ(wrong_in("<input {{#a}}checked{{/a}}>"), "");
  EXPECT_EQ(wrong_in("{{a}}<p {{a}}", {.how = http::page_rules::escaping::none}), "");
}

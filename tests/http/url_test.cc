// SPDX-License-Identifier: MIT
// URLs: parts, references, and texts that are refused.
#include "heddle/http/url.hh"

#include "support/test.hh"

namespace heddle::test {
namespace {

std::string url_text(std::string_view text) {
  const auto made = http::url::parse(text);
  return made ? made->text() : "<" + std::string(describe(made.error())) + ">";
}

HEDDLE_TEST(url, "a URL has its parts, in one form") {
  const http::url u = http::url::parse("HTTPS://Example.COM/a/./b/../c?d=e/../f#g").value();
  EXPECT_TRUE(u.secure);
  EXPECT_EQ(u.host, "example.com");
  EXPECT_EQ(u.port, 443);
  EXPECT_EQ(u.target, "/a/c?d=e/../f");
  EXPECT_EQ(u.path(), "/a/c");
  EXPECT_EQ(u.authority(), "example.com");
  EXPECT_EQ(u.host_and_port(), "example.com:443");
  EXPECT_EQ(url_text("http://h"), "http://h/");
  EXPECT_EQ(url_text("http://h?q"), "http://h/?q");
  EXPECT_EQ(url_text("http://h:80/"), "http://h/");
  EXPECT_EQ(url_text("http://h:443/"), "http://h:443/");
  EXPECT_EQ(url_text("http://[::1]:8080/x"), "http://[::1]:8080/x");
  EXPECT_EQ(http::url::parse("http://[::1]/")->host, "::1");
  EXPECT_EQ(url_text("http://h/a b\xc3\xa4"), "http://h/a%20b%C3%A4");
  EXPECT_EQ(url_text("http://h/../../a"), "http://h/a");
}

HEDDLE_TEST(url, "texts that could be read in two ways are refused") {
  for (const char* bad :
       {"", "h", "/a", "ftp://h/", "http:/h", "http:h", "http://", "http:///a", "http://user@h/",
        "http://good\\@evil/", "http://a:b@h/", "http://h:0/", "http://h:65536/", "http://h:8a/",
        "http://h h/", "http://[::1/", "http://h/\r\nX: y", "http://h\xc3\xa4/", "javascript:1"})
    EXPECT_FALSE(http::url::parse(bad).has_value()) << bad;
  EXPECT_EQ(url_text("http://h:/x"), "http://h/x");
  EXPECT_FALSE(http::url::parse("http://h/" + std::string(9000, 'a')).has_value());
}

HEDDLE_TEST(url, "references are resolved as RFC 3986 section 5.4 lists them") {
  const http::url base = http::url::parse("http://a/b/c/d;p?q").value();
  const auto meant = [&](std::string_view reference) { return base.resolve(reference)->text(); };
  EXPECT_EQ(meant("g"), "http://a/b/c/g");
  EXPECT_EQ(meant("./g"), "http://a/b/c/g");
  EXPECT_EQ(meant("g/"), "http://a/b/c/g/");
  EXPECT_EQ(meant("/g"), "http://a/g");
  EXPECT_EQ(meant("//g"), "http://g/");
  EXPECT_EQ(meant("?y"), "http://a/b/c/d;p?y");
  EXPECT_EQ(meant("g?y"), "http://a/b/c/g?y");
  EXPECT_EQ(meant("#s"), "http://a/b/c/d;p?q");
  EXPECT_EQ(meant(""), "http://a/b/c/d;p?q");
  EXPECT_EQ(meant("."), "http://a/b/c/");
  EXPECT_EQ(meant(".."), "http://a/b/");
  EXPECT_EQ(meant("../g"), "http://a/b/g");
  EXPECT_EQ(meant("../../../g"), "http://a/g");
  EXPECT_EQ(meant("g;x=1/../y"), "http://a/b/c/y");
  EXPECT_EQ(meant("https://o/p"), "https://o/p");
  EXPECT_FALSE(base.resolve("mailto:a").has_value());
  EXPECT_FALSE(base.resolve("//u@h/").has_value());
  EXPECT_FALSE(base.resolve("/a\nb").has_value());
}

}  // namespace
}  // namespace heddle::test

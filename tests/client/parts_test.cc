// SPDX-License-Identifier: MIT
// The parts of a client that need no connection: cookies and their dates.
#include "heddle/client/cookie_jar.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

http::url at(std::string_view text) { return http::url::parse(text).value(); }
constexpr std::int64_t noon = 1'700'000'000;

HEDDLE_TEST(cookie_jar, "a cookie goes back to its host, its path and its time") {
  http::cookie_jar jar;
  EXPECT_TRUE(jar.take(at("http://a.example.com/x/y"), "id=1; Max-Age=60", noon));
  EXPECT_EQ(jar.field(at("http://a.example.com/x/z"), noon), "id=1");
  EXPECT_EQ(jar.field(at("http://a.example.com/x"), noon), "id=1");
  EXPECT_EQ(jar.field(at("http://a.example.com/xx"), noon), "");
  EXPECT_EQ(jar.field(at("http://b.example.com/x/y"), noon), "");
  EXPECT_EQ(jar.field(at("http://a.a.example.com/x/y"), noon), "");
  EXPECT_EQ(jar.field(at("http://a.example.com/x/y"), noon + 60), "");
}

HEDDLE_TEST(cookie_jar,
            "a Domain reaches hosts below it, and never a public suffix or a stranger") {
  http::cookie_jar jar;
  EXPECT_TRUE(jar.take(at("http://x.a.example.com/"), "d=1; Domain=.A.example.com", noon));
  EXPECT_EQ(jar.field(at("http://y.a.example.com/"), noon), "d=1");
  EXPECT_EQ(jar.field(at("http://a.example.com/"), noon), "d=1");
  EXPECT_EQ(jar.field(at("http://example.com/"), noon), "");
  EXPECT_EQ(jar.field(at("http://ba.example.com/"), noon), "");
  EXPECT_FALSE(jar.take(at("http://a.example.com/"), "d=1; Domain=com", noon));
  const std::string suffix = std::string("co.") + "uk";
  EXPECT_FALSE(jar.take(at("http://a." + suffix), "d=1; Domain=" + suffix, noon));
  EXPECT_FALSE(jar.take(at("http://a.example.com/"), "d=1; Domain=b.example.com", noon));
  EXPECT_FALSE(jar.take(at("http://127.0.0.1/"), "d=1; Domain=0.0.1", noon));
  EXPECT_TRUE(jar.take(at("http://localhost/"), "d=2; Domain=localhost", noon));
  EXPECT_EQ(jar.field(at("http://x.localhost/"), noon), "");
}

HEDDLE_TEST(cookie_jar, "Secure and the prefixes need https, and http cannot replace them") {
  http::cookie_jar jar;
  EXPECT_FALSE(jar.take(at("http://example.com/"), "s=1; Secure", noon));
  EXPECT_TRUE(jar.take(at("https://example.com/"), "s=1; Secure", noon));
  EXPECT_EQ(jar.field(at("http://example.com/"), noon), "");
  EXPECT_EQ(jar.field(at("https://example.com/"), noon), "s=1");
  EXPECT_FALSE(jar.take(at("http://example.com/"), "s=2", noon));
  EXPECT_FALSE(jar.take(at("https://example.com/"), "__Host-a=1; Secure", noon));
  EXPECT_FALSE(jar.take(at("https://example.com/"), "__Secure-a=1", noon));
  EXPECT_TRUE(jar.take(at("https://example.com/"), "__Host-a=1; Secure; Path=/", noon));
}

HEDDLE_TEST(cookie_jar, "longer paths come first, a new value replaces, an old date removes") {
  http::cookie_jar jar;
  EXPECT_TRUE(jar.take(at("http://example.com/"), "a=1; Path=/", noon));
  EXPECT_TRUE(jar.take(at("http://example.com/"), "b=2; Path=/deep", noon));
  EXPECT_TRUE(jar.take(at("http://example.com/"), "a=3; Path=/", noon));
  EXPECT_EQ(jar.field(at("http://example.com/deep/er"), noon), "b=2; a=3");
  EXPECT_TRUE(jar.take(at("http://example.com/"),
                       "a=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT", noon));
  EXPECT_EQ(jar.field(at("http://example.com/"), noon), "");
  EXPECT_FALSE(jar.take(at("http://example.com/"), "no pair", noon));
  EXPECT_FALSE(jar.take(at("http://example.com/"), "a=1\r\nX: y", noon));
  EXPECT_FALSE(jar.take(at("http://example.com/"), "a=" + std::string(5000, 'x'), noon));
}

HEDDLE_TEST(cookie_jar, "a domain and a jar hold no more than their limits") {
  http::cookie_jar jar({.per_domain_max = 3, .count_max = 5});
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(jar.take(at("http://a.example.com/"), std::to_string(i) + "=1", noon));
  EXPECT_EQ(jar.field(at("http://a.example.com/"), noon), "7=1; 8=1; 9=1");
  for (int i = 0; i < 10; ++i)
    EXPECT_TRUE(jar.take(at("http://h" + std::to_string(i) + ".example.com/"), "x=1", noon));
  EXPECT_EQ(jar.size(), 5u);
}

HEDDLE_TEST(cookie_jar, "dates are read in the forms that servers send") {
  const auto read = [](std::string_view text) {
    std::int64_t seconds = -1;
    return http::parse_cookie_date(text, seconds) ? seconds : -1;
  };
  EXPECT_EQ(read("Sun, 06 Nov 1994 08:49:37 GMT"), 784111777);
  EXPECT_EQ(read("Sunday, 06-Nov-94 08:49:37 GMT"), 784111777);
  EXPECT_EQ(read("Sun Nov  6 08:49:37 1994"), 784111777);
  EXPECT_EQ(read("6 nov 1994 8:49:37"), 784111777);
  for (const char* bad : {"", "Sun", "06 Nov 1994", "06 Nov 1994 24:00:00", "31 Feb 1994 00:00:00",
                          "06 Nov 1994 8:4", "06 Nov 1594 08:49:37"})
    EXPECT_EQ(read(bad), -1) << bad;
}

}  // namespace
}  // namespace heddle::test

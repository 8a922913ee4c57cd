// SPDX-License-Identifier: MIT
// Names by number, methods and statuses by table, and the list syntax.
#include "heddle/http/headers.hh"

#include <string>

#include "heddle/http/method.hh"
#include "heddle/http/status.hh"
#include "support/test.hh"

namespace {

using namespace heddle::http;

HEDDLE_TEST(headers, "knows every name of its table in any case, and nothing near it") {
  for (std::size_t i = 1; i < header_id_count; ++i) {
    auto id = static_cast<header_id>(i);
    std::string name(name_of(id));
    ASSERT_FALSE(name.empty());
    EXPECT_EQ(header_id_of(name), id) << name;
    std::string upper = name;
    for (char& c : upper) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    }
    EXPECT_EQ(header_id_of(upper), id) << upper;
    for (std::size_t at = 0; at < name.size(); ++at) {
      std::string near = name;
      near[at] = near[at] == '~' ? '!' : '~';
      EXPECT_EQ(header_id_of(near), header_id::other) << near;
    }
    for (std::size_t length = 0; length < name.size(); ++length) {
      header_id part = header_id_of(name.substr(0, length));
      EXPECT_TRUE(part == header_id::other || name_of(part).size() == length) << name;
    }
    EXPECT_EQ(header_id_of(name + "x"), header_id::other);
    EXPECT_EQ(header_id_of("x" + name), header_id::other);
  }
  EXPECT_EQ(header_id_of(""), header_id::other);
  EXPECT_EQ(header_id_of("x"), header_id::other);
  EXPECT_EQ(header_id_of("content\rlength"), header_id::other);
  EXPECT_EQ(header_id_of(std::string(100, 'a')), header_id::other);
}

HEDDLE_TEST(headers, "takes lists apart at commas outside of quotes") {
  std::string_view list = " a ,, \"b,\\\"c\" ,\td\t,";
  std::string_view element;
  ASSERT_TRUE(take_list_element(list, element));
  EXPECT_EQ(element, "a");
  ASSERT_TRUE(take_list_element(list, element));
  EXPECT_EQ(element, "\"b,\\\"c\"");
  ASSERT_TRUE(take_list_element(list, element));
  EXPECT_EQ(element, "d");
  EXPECT_FALSE(take_list_element(list, element));
  EXPECT_TRUE(list_has_token("gzip, Br", "br"));
  EXPECT_FALSE(list_has_token("gzip, brr", "br"));
}

HEDDLE_TEST(headers, "tells tokens and values from what could break a line") {
  EXPECT_TRUE(token_valid("X-a!#$%&'*+.^_`|~9"));
  for (std::string_view bad : {"", "a b", "a:", "a\r", "a\n", "\x80", "a/b", "a,b"}) {
    EXPECT_FALSE(token_valid(bad)) << bad;
  }
  EXPECT_TRUE(value_valid("a\tb \xff"));
  EXPECT_FALSE(value_valid("a\rb"));
  EXPECT_FALSE(value_valid("a\nb"));
  EXPECT_FALSE(value_valid(std::string_view("a\0b", 3)));
}

HEDDLE_TEST(method, "knows the registered methods by their exact tokens") {
  for (std::size_t i = 1; i < method_count; ++i) {
    auto verb = static_cast<method>(i);
    EXPECT_EQ(method_of(name_of(verb)), verb);
  }
  EXPECT_EQ(method_of("get"), method::other);
  EXPECT_EQ(method_of("GETS"), method::other);
  EXPECT_TRUE(safe(method::head));
  EXPECT_FALSE(safe(method::post));
  EXPECT_TRUE(idempotent(method::delete_));
  EXPECT_FALSE(idempotent(method::patch));
  EXPECT_TRUE(safe(method::query));
  EXPECT_TRUE(idempotent(method::query));
}

HEDDLE_TEST(status, "has lines and phrases for registered codes only") {
  EXPECT_EQ(status_line(200), "HTTP/1.1 200 OK\r\n");
  EXPECT_EQ(reason_of(404), "Not Found");
  EXPECT_EQ(reason_of(431), "Request Header Fields Too Large");
  EXPECT_EQ(reason_of(299), "");
  EXPECT_EQ(status_line(99), "");
  EXPECT_EQ(status_line(1000), "");
  EXPECT_FALSE(body_allowed(304));
  EXPECT_FALSE(body_allowed(204));
  EXPECT_FALSE(body_allowed(101));
  EXPECT_TRUE(body_allowed(404));
}

}  // namespace

// SPDX-License-Identifier: MIT
// The database at its limits: columns, bytes, connections, settings; and statements and messages
// that it refuses without a loss.
#include "pg_client.hh"

namespace heddle::test {
namespace {

std::string repeated(const char* text, int count) {
  std::string made = text;
  for (int i = 1; i != count; ++i) made += std::string(",") + text;
  return made;
}

HEDDLE_TEST(fakes_limits, "a negative delay is refused") {
  postgres_server server;
  EXPECT_THROW(server.set_faults({.delay = -1ns}), failure);
}

HEDDLE_TEST(fakes_limits, "a result has at most 1,664 columns, and * counts as two") {
  simulate([](postgres_server&, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    co_await c.query("CREATE TABLE t (k text primary key, v text)");
    std::string sql = "SELECT " + repeated("*", 832) + " FROM t";
    EXPECT_TRUE((co_await c.query(sql)).ends_with("C(SELECT 0) Z(I)"));
    sql = "SELECT " + repeated("*", 832) + ",k FROM t";
    EXPECT_EQ(co_await c.query(sql), "E(54011) Z(I)");
    sql = "SELECT " + repeated("*", 32768) + " FROM t";  // 0 columns in 16 bits
    EXPECT_EQ(co_await c.query(sql), "E(54011) Z(I)");
    sql = "SELECT " + repeated("1", 1664);
    EXPECT_TRUE((co_await c.query(sql)).ends_with("C(SELECT 1) Z(I)"));
    sql = "SELECT " + repeated("1", 1665);
    EXPECT_EQ(co_await c.query(sql), "E(54011) Z(I)");
    c.parse("", "SELECT " + repeated("$1", 1665)).put('S', {});
    EXPECT_EQ(co_await c.send(), "E(54011) Z(I)");
  });
}

}  // namespace
}  // namespace heddle::test

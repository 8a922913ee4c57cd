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

HEDDLE_TEST(fakes_limits, "many connections at once do not exceed connections_max") {
  postgres_options options;
  options.connections_max = 2;
  const auto body = [](postgres_server& server, address at) -> task<> {
    std::vector<pg_client> all(5);
    std::vector<std::string> got(5);
    const auto connect_one = [](pg_client& c, std::string& out, address to) -> task<> {
      out = co_await c.connect(to);
    };
    const auto connect_all = [&](scope& s) -> task<> {
      for (std::size_t i = 0; i != all.size(); ++i) s.spawn(connect_one(all[i], got[i], at));
      co_return;
    };
    co_await with_scope(connect_all);
    std::map<std::string, int> counts;
    for (const std::string& each : got) ++counts[each.substr(each.rfind(' ') + 1)];
    EXPECT_EQ(counts, (std::map<std::string, int>{{"Z(I)", 2}, {"end", 2}, {"reset", 1}}));
    // A connection that was refused takes no place.
    for (std::size_t i = 0; i != all.size(); ++i) {
      if (!got[i].ends_with("Z(I)")) continue;
      all[i].put('X', {});
      EXPECT_EQ(co_await all[i].send(), " end");
      break;
    }
    while (server.connections_open() > 1) co_await sleep_for(1ms);
    pg_client again;
    EXPECT_TRUE((co_await again.connect(at)).ends_with("Z(I)"));
  };
  simulate(body, options);
}

HEDDLE_TEST(fakes_limits, "a breach of the protocol rolls back before its error is sent") {
  postgres_options options;
  options.transactions_max = 1;
  const auto body = [](postgres_server& server, address at) -> task<> {
    pg_client broken, other;
    co_await broken.connect(at);
    co_await other.connect(at);
    co_await broken.query("CREATE TABLE t (k text primary key, v text)");
    co_await broken.query("BEGIN; SELECT k FROM t");
    server.set_faults({.silent = true});  // the error waits
    broken.put('?', "what");
    static_cast<void>(co_await as_expected(with_timeout(broken.send(), 1s)));
    static_cast<void>(
        co_await as_expected(with_timeout(other.query("INSERT INTO t VALUES ('a', '1')"), 1s)));
    EXPECT_EQ(server.rows("t").size(), 1U);
    server.set_faults({});
    EXPECT_EQ(co_await broken.answers(), "E(08P01) end");
  };
  simulate(body, options);
}

HEDDLE_TEST(fakes_limits, "an INSERT may not name a column or update a row twice") {
  simulate([](postgres_server& server, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    co_await c.query("CREATE TABLE t (k text primary key, v text)");
    const std::string update = " ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v";
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('z', '1'), ('z', '2')" + update),
              "E(21000) Z(I)");
    EXPECT_TRUE(server.rows("t").empty());
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('z', '1'), ('y', '2')" + update),
              "C(INSERT 0 2) Z(I)");
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('z', '3')" + update), "C(INSERT 0 1) Z(I)");
    EXPECT_EQ(
        co_await c.query("INSERT INTO t VALUES ('x', '1'), ('x', '2') ON CONFLICT DO NOTHING"),
        "C(INSERT 0 1) Z(I)");
    EXPECT_EQ(co_await c.query("INSERT INTO t (k, v, k) VALUES ('a', '1', 'b')"), "E(42701) Z(I)");
    EXPECT_EQ(co_await c.query("INSERT INTO t (k, k) VALUES ('a', 'b')"), "E(42701) Z(I)");
  });
}

HEDDLE_TEST(fakes_limits, "rows_max counts rows of tables, and the tables on their own") {
  postgres_options options;
  options.rows_max = 2;
  const auto body = [](postgres_server& server, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    co_await c.query("CREATE TABLE t (k text primary key, v text)");
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('1', ''), ('2', '')"), "C(INSERT 0 2) Z(I)");
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('3', '')"), "E(53100) Z(I)");
    EXPECT_EQ(co_await c.query("CREATE TABLE u (k text primary key, v text)"),
              "C(CREATE TABLE) Z(I)");
    EXPECT_EQ(co_await c.query("CREATE TABLE w (k text primary key, v text)"), "E(53100) Z(I)");
    EXPECT_EQ(server.rows("t").size(), 2U);
  };
  simulate(body, options);
}

HEDDLE_TEST(fakes_limits, "a setting that exists can be changed when there is room for no other") {
  simulate([](postgres_server&, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    std::string got;
    for (int i = 0; i != 1000 && !got.starts_with("E"); ++i)
      got = co_await c.query("SET a.b" + std::to_string(i) + " = 'x'");
    EXPECT_EQ(got, "E(54000) Z(I)");
    EXPECT_EQ(co_await c.query("SET A.B0 = 'y'; SHOW a.b0"), "C(SET) T(a.b0) D(y) C(SHOW) Z(I)");
  });
}

HEDDLE_TEST(fakes_limits, "SET LOCAL ends with its transaction, committed or not") {
  simulate([](postgres_server&, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    co_await c.query("SET a.b = 'kept'");
    for (const char* end : {"COMMIT", "ROLLBACK"}) {
      EXPECT_EQ(co_await c.query("BEGIN; SET LOCAL a.b = 'short'; SHOW a.b"),
                "C(BEGIN) C(SET) T(a.b) D(short) C(SHOW) Z(T)");
      co_await c.query(end);
      EXPECT_EQ(co_await c.query("SHOW a.b"), "T(a.b) D(kept) C(SHOW) Z(I)");
    }
    co_await c.query("BEGIN; SET LOCAL a.b = 'short'; SELECT nothing");
    co_await c.query("ROLLBACK");
    EXPECT_EQ(co_await c.query("SHOW a.b"), "T(a.b) D(kept) C(SHOW) Z(I)");
    EXPECT_EQ(co_await c.query("SET LOCAL a.c = 'none'"), "N(25P01) C(SET) Z(I)");
    EXPECT_EQ(co_await c.query("SHOW a.c"), "E(42704) Z(I)");
    co_await c.query("BEGIN; SET LOCAL a.b = 'short'; SET a.b = 'long'; COMMIT");
    EXPECT_EQ(co_await c.query("SHOW a.b"), "T(a.b) D(long) C(SHOW) Z(I)");
  });
}

HEDDLE_TEST(fakes_limits, "bytes of a transaction, a result and portals are bounded") {
  postgres_options options;
  options.transaction_bytes_max = 20'000;
  const auto body = [](postgres_server&, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    const std::string large(1000, 'x');
    const auto refused = [&c](const std::string& got) {
      EXPECT_NE(got.find("E(54000)"), std::string::npos) << got;
      EXPECT_NE(c.last_text.find("transaction_bytes_max"), std::string::npos) << c.last_text;
    };
    co_await c.query("CREATE TABLE t (k text primary key, v text)");
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('a', '" + large + "')"),
              "C(INSERT 0 1) Z(I)");
    // Writes count with their values, and a value that is replaced counts no longer.
    co_await c.query("BEGIN");
    for (int i = 0; i != 40; ++i)
      EXPECT_EQ(co_await c.query("UPDATE t SET v = '" + large + "' WHERE k = 'a'"),
                "C(UPDATE 1) Z(T)");
    std::string got;
    for (int i = 0; i != 25 && !got.starts_with("E"); ++i)
      got =
          co_await c.query("INSERT INTO t VALUES ('b" + std::to_string(i) + "', '" + large + "')");
    refused(got);
    co_await c.query("ROLLBACK");
    // Keys that were read.
    co_await c.query("BEGIN");
    got.clear();
    for (int i = 0; i != 25 && !got.starts_with("E"); ++i)
      got = co_await c.query("SELECT v FROM t WHERE k = '" + large + std::to_string(i) + "'");
    refused(got);
    co_await c.query("ROLLBACK");
    // One row.
    refused(co_await c.query("SELECT " + repeated("v", 25) + " FROM t"));
    c.parse("", "SELECT " + repeated("$1", 25)).bind("", "", {large}).execute("").put('S', {});
    refused(co_await c.send());
    // Portals: each below the limit, all of them beyond it.
    c.parse("p", "SELECT " + repeated("v", 6) + " FROM t");
    for (const char* name : {"1", "2", "3", "4"}) c.bind(name, "p", {}).execute(name);
    c.put('S', {});
    refused(co_await c.send());
    c.parse("q", "SELECT $1::text");
    for (int i = 0; i != 25; ++i) c.bind(std::to_string(i), "q", {large});
    c.put('S', {});
    refused(co_await c.send());
    c.bind("1", "p", {}).execute("1").bind("2", "p", {}).execute("2").put('S', {});
    EXPECT_TRUE((co_await c.send()).ends_with("C(SELECT 1) Z(I)"));
  };
  simulate(body, options);
}

}  // namespace
}  // namespace heddle::test

// SPDX-License-Identifier: MIT
// The database by raw bytes: greeting, simple and extended queries, transactions, conflicts,
// faults, limits.
#include "heddle/fakes/postgres.hh"

#include "pg_client.hh"

namespace heddle::test {
namespace {

constexpr const char* greeting = "R(0) S S S S S S S S K Z(I)";

DRIVER_TEST(fakes_postgres, "a simple query gives rows, tags and the state of the transaction") {
  runtime rt(make());
  rt.run(with_database({}, [](postgres_server& server, address at) -> task<> {
    pg_client c;
    EXPECT_EQ(co_await c.connect(at), greeting);
    EXPECT_EQ(co_await c.query("CREATE TABLE t (key text primary key, value text)"),
              "C(CREATE TABLE) Z(I)");
    EXPECT_EQ(co_await c.query("create table if not exists T (key text primary key, value text);"),
              "N(42P07) C(CREATE TABLE) Z(I)");
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('a', '1'), ('b', NULL), ('it''s', E'x\\ty')"),
              "C(INSERT 0 3) Z(I)");
    EXPECT_EQ(co_await c.query("SELECT value FROM t WHERE key = 'a'"),
              "T(value) D(1) C(SELECT 1) Z(I)");
    EXPECT_EQ(co_await c.query("SELECT key, value FROM t ORDER BY key"),
              "T(key,value) D(a,1) D(b,NULL) D(it's,x\ty) C(SELECT 3) Z(I)");
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('a', '2')"), "E(23505) Z(I)");
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('a', '2') ON CONFLICT (key) DO NOTHING"),
              "C(INSERT 0 0) Z(I)");
    EXPECT_EQ(co_await c.query("INSERT INTO t (value, key) VALUES ('3', 'a') "
                               "ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value"),
              "C(INSERT 0 1) Z(I)");
    EXPECT_EQ(co_await c.query("UPDATE t SET value = '4' WHERE key = 'a' AND value = '3'"),
              "C(UPDATE 1) Z(I)");
    EXPECT_EQ(co_await c.query("UPDATE t SET value = '5' WHERE key = 'a' AND value = '3'"),
              "C(UPDATE 0) Z(I)");
    EXPECT_EQ(co_await c.query("DELETE FROM t WHERE key = 'b'; SELECT 1, 'x' AS y, NULL, true"),
              "C(DELETE 1) T(?column?,y,?column?,?column?) D(1,x,NULL,t) C(SELECT 1) Z(I)");
    EXPECT_EQ(co_await c.query(" ; -- nothing"), "I Z(I)");
    EXPECT_EQ(co_await c.query("SET a.b TO 'c'; SHOW a.b; SHOW server_encoding"),
              "C(SET) T(a.b) D(c) C(SHOW) T(server_encoding) D(UTF8) C(SHOW) Z(I)");
    const std::map<std::string, std::string> rows = server.rows("t");
    EXPECT_EQ(rows, (std::map<std::string, std::string>{{"a", "4"}, {"it's", "x\ty"}}));
    c.put('X', {});
    EXPECT_EQ(co_await c.send(), " end");
  }));
}

HEDDLE_TEST(fakes_postgres, "errors have the code and a text that says what the fake knows") {
  simulate([](postgres_server&, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    co_await c.query("CREATE TABLE t (k text primary key, v text)");
    const std::pair<const char*, const char*> all[] = {
        {"SELEC 1", "42601"},
        {"SELECT v FROM t WHERE k >", "42601"},
        {"SELECT v FROM t JOIN u", "42601"},
        {"DROP TABLE t", "0A000"},
        {"CREATE TABLE u (k int primary key, v text)", "0A000"},
        {"SELECT v FROM t WHERE v = 'x'", "0A000"},
        {"SELECT v FROM t ORDER BY v", "0A000"},
        {"UPDATE t SET k = 'x' WHERE k = 'y'", "0A000"},
        {"SELECT 'x'::int", "0A000"},
        {"SELECT v FROM none", "42P01"},
        {"SELECT x FROM t", "42703"},
        {"SELECT $1", "42P02"},
        {"SELECT $0", "42P02"},
        {"SHOW nothing", "42704"},
        {"CREATE TABLE t (k text primary key, v text)", "42P07"},
        {"INSERT INTO t VALUES (NULL, 'x')", "23502"},
        {"INSERT INTO t VALUES ('x', 'y', 'z')", "42601"},
        {"SELECT 'open", "42601"},
        {"SELECT 1 /* open", "42601"},
        {"SELECT 1; SELECT nothing at all", "42601"},
    };
    for (const auto& [sql, code] : all) {
      const std::string got = co_await c.query(sql);
      EXPECT_EQ(got, "E(" + std::string(code) + ") Z(I)") << sql << c.last_text;
    }
    co_await c.query("DELETE FROM t");
    EXPECT_NE(c.last_text.find("expected where; the fake knows DELETE FROM table WHERE key = v"),
              std::string::npos)
        << c.last_text;
  });
}

HEDDLE_TEST(fakes_postgres, "a failed transaction rolls back, and a query of several is one") {
  simulate([](postgres_server& server, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    co_await c.query("CREATE TABLE t (key text primary key, value text)");
    EXPECT_EQ(co_await c.query("BEGIN; INSERT INTO t VALUES ('a', '1')"),
              "C(BEGIN) C(INSERT 0 1) Z(T)");
    EXPECT_EQ(co_await c.query("SELECT nothing FROM t"), "E(42703) Z(E)");
    EXPECT_EQ(co_await c.query("SELECT 1"), "E(25P02) Z(E)");
    EXPECT_EQ(co_await c.query("COMMIT"), "C(ROLLBACK) Z(I)");
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('b', '1'); INSERT INTO t VALUES ('b', '1')"),
              "C(INSERT 0 1) E(23505) Z(I)");
    EXPECT_TRUE(server.rows("t").empty());
    EXPECT_EQ(co_await c.query("START TRANSACTION ISOLATION LEVEL SERIALIZABLE READ ONLY"),
              "C(START TRANSACTION) Z(T)");
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('a', '1')"), "E(25006) Z(E)");
    EXPECT_EQ(co_await c.query("ROLLBACK"), "C(ROLLBACK) Z(I)");
    EXPECT_EQ(co_await c.query("COMMIT"), "N(25P01) C(COMMIT) Z(I)");
    EXPECT_EQ(co_await c.query("BEGIN; BEGIN; INSERT INTO t VALUES ('a', '1'); COMMIT"),
              "C(BEGIN) N(25001) C(BEGIN) C(INSERT 0 1) C(COMMIT) Z(I)");
    EXPECT_EQ(server.rows("t").size(), 1U);
  });
}

HEDDLE_TEST(fakes_postgres, "of two transactions that meet, the first committer wins") {
  simulate([](postgres_server& server, address at) -> task<> {
    pg_client a, b;
    co_await a.connect(at);
    co_await b.connect(at);
    co_await a.query(
        "CREATE TABLE t (key text primary key, value text); "
        "INSERT INTO t VALUES ('x', '1'), ('y', '1')");
    // Lost update.
    co_await a.query("BEGIN; SELECT value FROM t WHERE key = 'x'");
    co_await b.query("BEGIN; SELECT value FROM t WHERE key = 'x'");
    EXPECT_EQ(co_await a.query("UPDATE t SET value = '2' WHERE key = 'x'; COMMIT"),
              "C(UPDATE 1) C(COMMIT) Z(I)");
    EXPECT_EQ(co_await b.query("UPDATE t SET value = '3' WHERE key = 'x'"), "E(40001) Z(E)");
    co_await b.query("ROLLBACK");
    // Write skew: each reads both rows and changes another one.
    co_await a.query("BEGIN; SELECT key, value FROM t");
    co_await b.query(
        "BEGIN; SELECT value FROM t WHERE key = 'x'; SELECT value FROM t WHERE key = 'y'");
    co_await a.query("UPDATE t SET value = '0' WHERE key = 'x'");
    co_await b.query("UPDATE t SET value = '0' WHERE key = 'y'");
    EXPECT_EQ(co_await a.query("COMMIT"), "C(COMMIT) Z(I)");
    EXPECT_EQ(co_await b.query("COMMIT"), "E(40001) Z(I)");
    // A phantom: a table that was read whole gets a row.
    co_await a.query("BEGIN; SELECT key, value FROM t; INSERT INTO t VALUES ('z', '1')");
    co_await b.query("INSERT INTO t VALUES ('q', '1')");
    EXPECT_EQ(co_await a.query("COMMIT"), "E(40001) Z(I)");
    // A row that was removed and one that is missing.
    co_await a.query("BEGIN; SELECT value FROM t WHERE key = 'w'");
    co_await b.query("INSERT INTO t VALUES ('w', '1'); DELETE FROM t WHERE key = 'w'");
    EXPECT_EQ(co_await a.query("INSERT INTO t VALUES ('w', '2')"), "E(40001) Z(E)");
    // A reader alone never conflicts at its end.
    co_await a.query("ROLLBACK; BEGIN; SELECT value FROM t WHERE key = 'x'");
    co_await b.query("UPDATE t SET value = '9' WHERE key = 'x'");
    EXPECT_EQ(co_await a.query("COMMIT"), "C(COMMIT) Z(I)");
    EXPECT_EQ(server.counters().conflicts, 4U);
  });
}

HEDDLE_TEST(fakes_postgres, "the extended protocol binds, describes, suspends, and skips to Sync") {
  simulate([](postgres_server&, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    co_await c.query(
        "CREATE TABLE t (key text primary key, value text); "
        "INSERT INTO t VALUES ('a', '1'), ('b', '2'), ('c', '3')");
    c.parse("one", "SELECT value FROM t WHERE key = $1").describe('S', "one");
    c.bind("", "one", {"b"}).describe('P', "").execute("").put('S', {});
    EXPECT_EQ(co_await c.send(), "1 t(1) T(value) 2 T(value) D(2) C(SELECT 1) Z(I)");
    c.parse("", "SELECT key FROM t").bind("p", "", {}).execute("p", 2).execute("p", 2);
    c.put('S', {});
    EXPECT_EQ(co_await c.send(), "1 2 D(a) D(b) s D(c) C(SELECT 1) Z(I)");
    c.execute("p").put('S', {});
    EXPECT_EQ(co_await c.send(), "E(34000) Z(I)");  // portals end with their transaction
    c.parse("", "UPDATE t SET value = $2 WHERE key = $1").describe('S', "");
    c.bind("", "", {"a", "9"}).describe('P', "").execute("").execute("").bind("", "", {"a", "7"});
    c.put('S', {});
    EXPECT_EQ(co_await c.send(), "1 t(2) n 2 n C(UPDATE 1) E(55000) Z(I)");
    c.parse("", "SELECT value FROM t WHERE key = 'a'").bind("", "", {}).execute("").put('S', {});
    EXPECT_EQ(co_await c.send(), "1 2 D(1) C(SELECT 1) Z(I)");  // the error rolled back
    c.parse("", "BEGIN").bind("", "", {}).execute("").put('S', {});
    EXPECT_EQ(co_await c.send(), "1 2 C(BEGIN) Z(T)");
    c.bind("", "one", {"a", "b"}).execute("").put('S', {});
    EXPECT_EQ(co_await c.send(), "E(08P01) Z(E)");
    c.parse("", "ROLLBACK").bind("", "", {}).execute("").put('S', {});
    EXPECT_EQ(co_await c.send(), "1 2 C(ROLLBACK) Z(I)");
    c.parse("one", "SELECT 1").put('S', {});
    EXPECT_EQ(co_await c.send(), "E(42P05) Z(I)");
    using namespace std::string_literals;
    c.put('C', "Sone\0"s).put('C', "Pnone\0"s).parse("one", "").bind("", "one", {}).execute("");
    c.put('S', {});
    EXPECT_EQ(co_await c.send(), "3 3 1 2 I Z(I)");
    c.parse("", "SELECT 1; SELECT 2").put('S', {});
    EXPECT_EQ(co_await c.send(), "E(42601) Z(I)");
    c.parse("", "SHOW timezone").bind("", "", {}).describe('P', "").execute("").put('S', {});
    EXPECT_EQ(co_await c.send(), "1 2 T(timezone) D(UTC) C(SHOW) Z(I)");
    c.bind("", "", {}).execute("", 1).execute("", 1).put('S', {});
    EXPECT_EQ(co_await c.send(), "2 D(UTC) s C(SHOW) Z(I)");
    EXPECT_EQ(co_await c.query("SELECT 1"), "T(?column?) D(1) C(SELECT 1) Z(I)");
  });
}

HEDDLE_TEST(fakes_postgres, "passwords, users, encryption and versions are answered") {
  postgres_options options;
  options.user = "test";
  options.password = "secret";
  const auto body = [](postgres_server&, address at) -> task<> {
    using namespace std::string_literals;
    pg_client c;
    EXPECT_EQ(co_await c.connect(at, "secret"), "R(3) " + std::string(greeting));
    EXPECT_EQ(co_await c.connect(at, "wrong"), "R(3) E(28P01) end");
    // SSLRequest and GSSENCRequest, then the startup message.
    c.connection() = co_await tcp_connect(at);
    co_await c.connection().write(std::string_view("\0\0\0\x08\x04\xd2\x16\x2f"s));
    char letter[1];
    co_await c.connection().read(letter);
    EXPECT_EQ(letter[0], 'N');
    co_await c.connection().write(std::string_view("\0\0\0\x08\x04\xd2\x16\x30"s));
    co_await c.connection().read(letter);
    EXPECT_EQ(letter[0], 'N');
    c.out = "\0\0\0\x13\0\3\0\2user\0other\0\0"s;
    c.out[3] = static_cast<char>(c.out.size());
    EXPECT_EQ(co_await c.send(), "E(28000) end");
    c.connection() = co_await tcp_connect(at);
    c.out = "\0\0\0\x13\0\3\0\2user\0test\0\0"s;
    c.out[3] = static_cast<char>(c.out.size());
    fakes::detail::put_text_message(c.out, 'p', "secret");
    EXPECT_EQ(co_await c.send(), "v(0) R(3) " + std::string(greeting));
    c.connection() = co_await tcp_connect(at);
    c.out = "\0\0\0\x08\0\2\0\0"s;
    EXPECT_EQ(co_await c.send(), "E(0A000) end");
    c.connection() = co_await tcp_connect(at);
    c.out = "\0\0\0\x01"s;
    EXPECT_EQ(co_await c.send(), "E(08P01) end");
    EXPECT_EQ(co_await c.connect(at, "secret"), "R(3) " + std::string(greeting));
    c.put('?', "what");
    EXPECT_EQ(co_await c.send(), "E(08P01) end");
  };
  simulate(body, options);
}

HEDDLE_TEST(fakes_postgres,
            "CancelRequest ends the statement of its session, with the right secret") {
  simulate([](postgres_server& server, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    server.set_faults({.delay = 10s});
    const auto ask = [](address to, std::uint32_t number, std::uint32_t secret) -> task<> {
      std::string bytes;
      fakes::detail::put_number(bytes, 16, 4);
      fakes::detail::put_number(bytes, fakes::detail::pg_cancel_code, 4);
      fakes::detail::put_number(bytes, number, 4);
      fakes::detail::put_number(bytes, secret, 4);
      co_await sleep_for(1s);
      const std::string got = co_await converse(to, bytes);
      EXPECT_EQ(got, "");
    };
    const auto both = [&](scope& s, std::uint32_t secret) -> task<> {
      s.spawn(ask(at, c.number, secret));
      const time_point begun = clock::now();
      const std::string got = co_await c.query("SELECT 1");
      const bool early = clock::now() - begun < 5s;
      EXPECT_EQ(early, secret == c.secret);
      EXPECT_EQ(got.starts_with("E(57014)"), early) << got;
    };
    co_await with_scope(both, c.secret);
    co_await with_scope(both, c.secret + 1);
    EXPECT_EQ(server.counters().cancels, 1U);
  });
}

HEDDLE_TEST(fakes_postgres, "faults refuse, delay, cut and silence connections") {
  simulate([](postgres_server& server, address at) -> task<> {
    pg_client c, other;
    co_await c.connect(at);
    server.set_faults({.cut_after = 8});
    EXPECT_EQ(co_await c.query("SELECT 1"), " reset");
    server.set_faults({.connections = postgres_faults::door::starting});
    EXPECT_EQ(co_await c.connect(at), "E(57P03) end");
    server.set_faults({.connections = postgres_faults::door::resets});
    EXPECT_EQ(co_await c.connect(at), " reset");
    server.set_faults({});
    co_await c.connect(at);
    server.set_faults({.silent = true});
    const auto none = co_await as_expected(with_timeout(c.query("SELECT 1"), 5s));
    EXPECT_FALSE(none);
    server.set_faults({});
    EXPECT_EQ(co_await c.answers(), "T(?column?) D(1) C(SELECT 1) Z(I)");
    co_await other.connect(at);
    EXPECT_EQ(server.connections_open(), 2U);
    server.drop_connections();
    EXPECT_EQ(co_await c.query("SELECT 1"), " reset");
    EXPECT_EQ(co_await other.query("SELECT 1"), " reset");
    EXPECT_EQ(server.connections_open(), 0U);
  });
}

HEDDLE_TEST(fakes_postgres, "each limit gives an error that names its option") {
  postgres_options options;
  options.connections_max = 2;
  options.transactions_max = 1;
  options.message_bytes_max = 300;
  options.statement_bytes_max = 100;
  options.statements_max = 2;
  options.rows_max = 3;
  options.data_bytes_max = 60;
  options.transaction_rows_max = 5;
  const auto body = [](postgres_server&, address at) -> task<> {
    pg_client a, b, c;
    co_await a.connect(at);
    co_await b.connect(at);
    EXPECT_EQ(co_await c.connect(at), "E(53300) end");
    EXPECT_NE(c.last_text.find("connections_max"), std::string::npos);
    const auto expect = [](const std::string& got, const char* code, const pg_client& from,
                           const char* option) {
      EXPECT_NE(got.find(std::string("E(") + code + ')'), std::string::npos) << got;
      EXPECT_NE(from.last_text.find(option), std::string::npos) << from.last_text;
    };
    co_await a.query("CREATE TABLE t (key text primary key, value text)");
    co_await b.query("BEGIN; SELECT 1");
    expect(co_await a.query("SELECT 1"), "53400", a, "transactions_max");
    co_await b.query("COMMIT");
    expect(co_await a.query("SELECT " + std::string(100, '1')), "54000", a, "statement_bytes_max");
    expect(co_await a.query("INSERT INTO t VALUES ('1',''),('2',''),('3',''),('4','')"), "53100", a,
           "rows_max");
    expect(co_await a.query("INSERT INTO t VALUES ('1', '" + std::string(60, 'x') + "')"), "53100",
           a, "data_bytes_max");
    expect(co_await a.query("INSERT INTO t VALUES ('1',''),('2',''),('3',''),('4',''),('5','')"),
           "54000", a, "transaction_rows_max");
    a.parse("1", "").parse("2", "").parse("3", "").put('S', {});
    expect(co_await a.send(), "54000", a, "statements_max");
    expect(co_await a.query(std::string(400, ' ')), "08P01", a, "message_bytes_max");
  };
  simulate(body, options);
}

HEDDLE_TEST(fakes_postgres,
            "messages that are cut anywhere, or lie about their fields, lose nothing") {
  simulate([](postgres_server& server, address at) -> task<> {
    using namespace std::string_literals;
    pg_client good;
    co_await good.connect(at);
    co_await good.query(
        "CREATE TABLE t (key text primary key, value text); "
        "INSERT INTO t VALUES ('a', '1')");
    for (const std::string& bad :
         {"B\0\0\0\x08\0\0\0\1"s, "P\0\0\0\x06xx"s, "E\0\0\0\x05x"s, "D\0\0\0\x04"s,
          "Q\0\0\0\x05x"s, "S\0\0\0\x05x"s, "C\0\0\0\x06Xx"s}) {
      pg_client c;
      co_await c.connect(at);
      c.out = bad;
      c.put('S', {});
      const std::string got = co_await c.send();
      EXPECT_TRUE(got.starts_with("E(08P01)")) << got;
    }
    EXPECT_EQ(co_await good.query("SELECT key, value FROM t"),
              "T(key,value) D(a,1) C(SELECT 1) Z(I)");
    EXPECT_EQ(server.rows("t").size(), 1U);
  });
}

}  // namespace
}  // namespace heddle::test

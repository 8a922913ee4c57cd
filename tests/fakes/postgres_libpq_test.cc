// SPDX-License-Identifier: MIT
// libpq, unchanged, against the database on each real driver. It runs in a thread of the pool,
// because it blocks. Left out where libpq is not installed.
#include "harness.hh"
#include "heddle/fakes/postgres.hh"
#include "heddle/io/blocking.hh"

#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>

#include <memory>
#include <thread>

namespace heddle::test {
namespace {

struct pq_closer {
  void operator()(PGconn* c) const { PQfinish(c); }
  void operator()(PGresult* r) const { PQclear(r); }
  void operator()(PGcancel* c) const { PQfreeCancel(c); }
};
using pq_connection = std::unique_ptr<PGconn, pq_closer>;
using pq_result = std::unique_ptr<PGresult, pq_closer>;

std::string pq_text(PGresult* r) {
  if (PQresultStatus(r) == PGRES_FATAL_ERROR) return PQresultErrorField(r, PG_DIAG_SQLSTATE);
  std::string text = PQcmdStatus(r);
  for (int row = 0; row != PQntuples(r); ++row)
    for (int column = 0; column != PQnfields(r); ++column)
      text +=
          std::string(" ") + (PQgetisnull(r, row, column) ? "NULL" : PQgetvalue(r, row, column));
  return text;
}

std::string pq_ask(PGconn* c, const char* sql) { return pq_text(pq_result(PQexec(c, sql)).get()); }

std::string pq_ask(PGconn* c, const char* sql, std::vector<const char*> values) {
  const int count = static_cast<int>(values.size());
  return pq_text(
      pq_result(PQexecParams(c, sql, count, nullptr, values.data(), nullptr, nullptr, 0)).get());
}

/// All that the thread does: it needs nothing of the runtime.
void use_libpq(const std::string& info) {
  const pq_connection c(PQconnectdb(info.c_str()));
  ASSERT_EQ(PQstatus(c.get()), CONNECTION_OK) << PQerrorMessage(c.get());
  EXPECT_EQ(PQserverVersion(c.get()), 160000);
  EXPECT_STREQ(PQparameterStatus(c.get(), "server_encoding"), "UTF8");
  EXPECT_EQ(pq_ask(c.get(), "CREATE TABLE t (key text primary key, value text)"), "CREATE TABLE");
  EXPECT_EQ(pq_ask(c.get(), "INSERT INTO t VALUES ($1, $2), ($3, $4)", {"a", "1", "b", nullptr}),
            "INSERT 0 2");
  EXPECT_EQ(pq_ask(c.get(), "SELECT key, value FROM t ORDER BY key"), "SELECT 2 a 1 b NULL");
  EXPECT_EQ(pq_ask(c.get(), "SELECT value FROM t WHERE key = $1", {"a"}), "SELECT 1 1");
  EXPECT_EQ(pq_ask(c.get(), "SELECT nothing at all"), "42601");
  EXPECT_EQ(pq_ask(c.get(), "SELECT value FROM none WHERE key = $1", {"a"}), "42P01");

  const pq_result prepared(
      PQprepare(c.get(), "set", "UPDATE t SET value = $2 WHERE key = $1", 2, nullptr));
  EXPECT_EQ(PQresultStatus(prepared.get()), PGRES_COMMAND_OK) << PQerrorMessage(c.get());
  const pq_result described(PQdescribePrepared(c.get(), "set"));
  EXPECT_EQ(PQnparams(described.get()), 2);
  const char* values[] = {"a", "2"};
  EXPECT_EQ(
      pq_text(pq_result(PQexecPrepared(c.get(), "set", 2, values, nullptr, nullptr, 0)).get()),
      "UPDATE 1");

  // Two connections that meet.
  const pq_connection d(PQconnectdb(info.c_str()));
  EXPECT_EQ(pq_ask(c.get(), "BEGIN"), "BEGIN");
  EXPECT_EQ(pq_ask(d.get(), "BEGIN"), "BEGIN");
  EXPECT_EQ(PQtransactionStatus(d.get()), PQTRANS_INTRANS);
  EXPECT_EQ(pq_ask(c.get(), "SELECT value FROM t WHERE key = $1", {"a"}), "SELECT 1 2");
  EXPECT_EQ(pq_ask(d.get(), "SELECT value FROM t WHERE key = $1", {"a"}), "SELECT 1 2");
  EXPECT_EQ(pq_ask(c.get(), "UPDATE t SET value = '3' WHERE key = 'a'"), "UPDATE 1");
  EXPECT_EQ(pq_ask(d.get(), "UPDATE t SET value = '4' WHERE key = 'a'"), "UPDATE 1");
  EXPECT_EQ(pq_ask(c.get(), "COMMIT"), "COMMIT");
  EXPECT_EQ(pq_ask(d.get(), "COMMIT"), "40001");
  EXPECT_EQ(PQtransactionStatus(d.get()), PQTRANS_IDLE);

  // A pipeline whose first statement fails: the others are skipped up to Sync.
  ASSERT_EQ(PQenterPipelineMode(d.get()), 1);
  PQsendQueryParams(d.get(), "SELECT value FROM none", 0, nullptr, nullptr, nullptr, nullptr, 0);
  PQsendQueryParams(d.get(), "SELECT 1", 0, nullptr, nullptr, nullptr, nullptr, 0);
  PQpipelineSync(d.get());
  std::string statuses;
  for (int nulls = 0; nulls < 2;) {
    const pq_result r(PQgetResult(d.get()));
    if (r == nullptr) {
      ++nulls;
    } else {
      statuses += PQresStatus(PQresultStatus(r.get())) + std::string(" ");
    }
  }
  const pq_result synced(PQgetResult(d.get()));
  EXPECT_EQ(statuses, "PGRES_FATAL_ERROR PGRES_PIPELINE_ABORTED ");
  EXPECT_EQ(PQresultStatus(synced.get()), PGRES_PIPELINE_SYNC);
}

void cancel_with_libpq(const std::string& info) {
  const pq_connection c(PQconnectdb(info.c_str()));
  ASSERT_EQ(PQstatus(c.get()), CONNECTION_OK) << PQerrorMessage(c.get());
  const std::unique_ptr<PGcancel, pq_closer> cancel(PQgetCancel(c.get()));
  ASSERT_EQ(PQsendQuery(c.get(), "SELECT 1"), 1);
  char why[256] = "";
  std::string got;
  while (got.empty()) {  // the statement may not have come yet when the first request comes
    EXPECT_EQ(PQcancel(cancel.get(), why, sizeof why), 1) << why;
    std::this_thread::sleep_for(10ms);
    PQconsumeInput(c.get());
    if (PQisBusy(c.get()) == 0) got = pq_text(pq_result(PQgetResult(c.get())).get());
  }
  EXPECT_EQ(got, "57014");
  EXPECT_EQ(PQgetResult(c.get()), nullptr);
}

/// Runs `use(connection info)` in a thread beside a database on this driver.
void with_libpq(const driver_maker& make, fakes::postgres_faults faults,
                void (*use)(const std::string&), const char* password) {
  runtime rt(make());
  rt.run([&]() -> task<> {
    fakes::postgres_options options;
    options.password = "secret";
    fakes::postgres_server server(options);
    server.set_faults(faults);
    const tcp_listener door = tcp_listener::listen(address::loopback(0));
    const std::string info =
        "host=127.0.0.1 connect_timeout=20 dbname=x user=test password=" + std::string(password) +
        " port=" + std::to_string(door.local().port());
    const auto body = [&]() -> task<> { co_await blocking(use, std::cref(info)); };
    co_await beside(server.serve(door), body);
  });
}

DRIVER_TEST(fakes_libpq, "queries, parameters, prepared statements, conflicts and pipelines") {
  if (!make.real()) GTEST_SKIP() << "libpq asks the kernel";
  with_libpq(make, {}, use_libpq, "secret");
}

DRIVER_TEST(fakes_libpq, "PQcancel ends a late statement") {
  if (!make.real()) GTEST_SKIP() << "libpq asks the kernel";
  fakes::postgres_faults late;
  late.delay = 60s;
  with_libpq(make, late, cancel_with_libpq, "secret");
}

DRIVER_TEST(fakes_libpq, "a wrong password is refused with its reason") {
  if (!make.real()) GTEST_SKIP() << "libpq asks the kernel";
  const auto refused = [](const std::string& info) {
    const pq_connection c(PQconnectdb(info.c_str()));
    EXPECT_EQ(PQstatus(c.get()), CONNECTION_BAD);
    const std::string why = PQerrorMessage(c.get());
    EXPECT_NE(why.find("password authentication failed for user \"test\""), std::string::npos)
        << why;
  };
  with_libpq(make, {}, refused, "wrong");
}

}  // namespace
}  // namespace heddle::test

#endif

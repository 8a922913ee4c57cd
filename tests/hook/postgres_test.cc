// SPDX-License-Identifier: MIT
// libpq, unchanged, with its blocking calls: a hundred fibers on one worker ask a PostgreSQL that
// the test starts, in parallel. Skipped where there is no libpq, server or account for it.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "heddle/fiber/fiber.hh"
#include "heddle/heddle.hh"
#include "support/test.hh"

#if __has_include(<libpq-fe.h>)
#include <libpq-fe.h>

using namespace heddle;
using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;

/// A server in a folder of its own, reached through a socket there; no port is opened.
class server {
 public:
  server() {
    std::error_code none;
    for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", none))
      if (fs::exists(version.path() / "bin/initdb")) bin_ = version.path() / "bin";
    if (bin_.empty()) {
      missing_ = "no PostgreSQL server is installed (scripts/setup test)";
      return;
    }
    char path[] = "/tmp/heddle-pg-XXXXXX";
    folder_ = ::mkdtemp(path);
    if (::geteuid() == 0) {  // which the server refuses
      as_ = "setpriv --reuid=postgres --regid=postgres --clear-groups ";
      if (run("chown postgres " + folder_.string()) != 0) {
        missing_ = "there is no account `postgres`";
        return;
      }
    }
    const std::string data = (folder_ / "data").string();
    if (run(as_ + (bin_ / "initdb").string() + " -D " + data +
            " -A trust -U test --no-sync --no-instructions -E UTF8 --locale=C") != 0)
      missing_ = "initdb failed: " + log();
    else if (run(as_ + (bin_ / "pg_ctl").string() + " -D " + data + " -w -o \"-k " +
                 folder_.string() +
                 " -c listen_addresses= -c max_connections=130 -c fsync=off "
                 "-c shared_buffers=16MB\" start") != 0)
      missing_ = "the server did not start: " + log();
    else
      running_ = true;
  }
  server(const server&) = delete;
  ~server() {
    if (running_)
      run(as_ + (bin_ / "pg_ctl").string() + " -D " + (folder_ / "data").string() +
          " -m immediate stop");
    std::error_code none;
    if (folder_.empty()) return;
    fs::remove_all(folder_, none);
    fs::remove(folder_.string() + ".log", none);
  }

  [[nodiscard]] const std::string& missing() const { return missing_; }
  [[nodiscard]] std::string conninfo() const {
    return "host=" + folder_.string() + " user=test dbname=postgres";
  }

 private:
  int run(const std::string& command) {
    // The log stands beside the folder, which belongs to somebody else.
    const std::string whole =
        "cd / && " + command + " >>" + folder_.string() + ".log 2>&1 </dev/null";
    return std::system(whole.c_str());
  }
  std::string log() {
    std::ifstream in(folder_.string() + ".log");
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path bin_;
  fs::path folder_;
  std::string as_;
  std::string missing_;
  bool running_ = false;
};

/// Plain libpq, as in any program that blocks.
int ask(const std::string& conninfo, int number) {
  PGconn* const conn = PQconnectdb(conninfo.c_str());
  if (PQstatus(conn) != CONNECTION_OK) {
    ADD_FAILURE() << PQerrorMessage(conn);
    PQfinish(conn);
    return -1;
  }
  const std::string query = "SELECT pg_sleep(0.3), " + std::to_string(number) + " * 2";
  PGresult* const answer = PQexec(conn, query.c_str());
  EXPECT_EQ(PQresultStatus(answer), PGRES_TUPLES_OK) << PQerrorMessage(conn);
  const int value = PQntuples(answer) == 1 ? std::atoi(PQgetvalue(answer, 0, 1)) : -1;
  PQclear(answer);
  PQfinish(conn);
  return value;
}

task<> ask_many(const std::string& conninfo, int count, int& right) {
  scope s;
  for (int i = 0; i < count; ++i)
    s.spawn(
        [](const std::string& to, int n, int& sum) -> task<> {
          const int got =
              co_await fiber(fiber_options{.stack_bytes = 0, .hooks = true}, ask, std::cref(to), n);
          sum += got == 2 * n;
        },
        std::cref(conninfo), i, std::ref(right));
  co_await s.join();
}

}  // namespace

HEDDLE_TEST(postgres, "a hundred fibers ask through an unchanged libpq, in parallel") {
  const server pg;
  if (!pg.missing().empty()) GTEST_SKIP() << pg.missing();
  const std::string conninfo = pg.conninfo();
  runtime rt;
  int right = 0;
  const auto begin = std::chrono::steady_clock::now();
  rt.run(ask_many(conninfo, 100, right));
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(right, 100);
  // One after another the sleeps alone take 30 s.
  EXPECT_LT(took, 15s);
}

#endif

// SPDX-License-Identifier: MIT
// The database with a folder: what it has committed is there after a restart, with torn ends of its
// log, and in clusters whose database loses power: clients move amounts between keys, and the sum
// and each acknowledged transfer are kept.
#include <algorithm>
#include <filesystem>
#include <numeric>

#include "heddle/io/directory.hh"
#include "heddle/io/file.hh"
#include "heddle/sim/runs.hh"
#include "pg_client.hh"
#include "support/environment.hh"
#include "support/made_folder.hh"
#include "support/seeds.hh"

namespace heddle::test {
namespace {

constexpr std::uint16_t pg_port = 5432;

task<int> database_node(bool syncs) {
  postgres_options options;
  options.folder = "/data";
  options.sync_commits = syncs;
  postgres_server server(options);
  const tcp_listener door = tcp_listener::listen(address::any_v4(pg_port));
  // A disk that fails while the log is read fails the start, as that of a real database.
  for (;;) {
    const auto ended = co_await as_expected(server.serve(door));
    if (!ended && ended.error() == std::errc::operation_canceled) throw failure(ended.error());
    co_await sleep_for(100ms);
  }
}

HEDDLE_TEST(fakes_restart, "a log whose end is torn gives the commits before it, and goes on") {
  std::string log;
  std::vector<std::size_t> sizes;
  std::vector<std::string> rows;
  const auto use = [](std::string content, auto body) {
    auto* const world = new sim_driver();
    runtime rt{std::unique_ptr<driver>(world)};
    if (!content.empty()) world->write_file("/data/log", content);
    postgres_options options;
    options.folder = "/data";
    rt.run(with_database(options, body));
    return world->files().at("/data/log");
  };
  log = use("", [&](postgres_server&, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    co_await c.query("CREATE TABLE t (key text primary key, value text)");
    for (int i = 0; i != 3; ++i) {
      sizes.push_back((co_await read_file("/data/log")).size());
      co_await c.query("INSERT INTO t VALUES ('k" + std::to_string(i) + "', 'v'), ('n" +
                       std::to_string(i) + "', NULL)");
      co_await c.query("BEGIN; INSERT INTO t VALUES ('never', '1'); ROLLBACK");
    }
  });
  sizes.push_back(log.size());
  for (std::size_t length = sizes[0]; length <= log.size(); ++length) {
    const std::size_t whole = static_cast<std::size_t>(
        std::ranges::count_if(sizes, [&](std::size_t s) { return s <= length; }) - 1);
    // Zeros and other bytes behind the torn record are none of it, either.
    for (const std::string& behind :
         {std::string(), std::string(600, '\0'), std::string("\1\2\3")}) {
      const std::string torn = log.substr(0, length) + behind;
      const std::string after = use(torn, [&](postgres_server& server, address at) -> task<> {
        pg_client c;
        EXPECT_EQ(server.rows("t").size(), 0U);  // before the start
        co_await c.connect(at);
        EXPECT_EQ(server.rows("t").size(), whole) << length;
        EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('new', 'x')"), "C(INSERT 0 1) Z(I)");
      });
      static_cast<void>(use(after, [&](postgres_server& server, address at) -> task<> {
        pg_client c;
        co_await c.connect(at);
        EXPECT_EQ(server.rows("t").size(), whole + 1) << length;
        EXPECT_EQ(server.rows("t").count("new"), 1U);
      }));
    }
  }
}

HEDDLE_TEST(fakes_restart, "a disk that fails leaves the outcome open, and later commits whole") {
  auto* const world = new sim_driver();
  postgres_options options;
  options.folder = "/data";
  runtime rt{std::unique_ptr<driver>(world)};
  rt.run([&]() -> task<> {
    const auto first = [world](postgres_server& server, address at) -> task<> {
      pg_client c;
      co_await c.connect(at);
      co_await c.query("CREATE TABLE t (key text primary key, value text)");
      for (const op_code what : {op_code::write, op_code::sync}) {
        world->fail_next(what, -EIO);
        EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('a', '" + std::string(99, 'x') + "')"),
                  "E(58030) Z(I)");
        EXPECT_TRUE(server.rows("t").empty());
      }
      // A shorter record takes the place of the failed one.
      EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('b', '1')"), "C(INSERT 0 1) Z(I)");
    };
    co_await with_database(options, first);
    world->crash_disk();
    const auto second = [](postgres_server& server, address at) -> task<> {
      pg_client c;
      co_await c.connect(at);
      EXPECT_EQ(server.rows("t"), (std::map<std::string, std::string>{{"b", "1"}}));
    };
    co_await with_database(options, second);
  });
}

HEDDLE_TEST(fakes_restart, "two listeners of one database read its log once") {
  runtime rt(std::make_unique<sim_driver>());
  rt.run([&]() -> task<> {
    postgres_options options;
    options.folder = "/data";
    postgres_server server(options);
    const tcp_listener a = tcp_listener::listen(address::loopback(0));
    const tcp_listener b = tcp_listener::listen(address::loopback(0));
    const auto body = [&]() -> task<> {
      pg_client one, other;
      co_await one.connect(a.local());
      co_await one.query("CREATE TABLE t (key text primary key, value text)");
      co_await other.connect(b.local());
      EXPECT_EQ(co_await other.query("INSERT INTO t VALUES ('b', '1')"), "C(INSERT 0 1) Z(I)");
    };
    const auto both = [&](scope& s) -> task<> {
      s.spawn(server.serve(a));
      s.spawn(server.serve(b));
      co_await body();
      s.cancel();
    };
    static_cast<void>(co_await as_expected(with_scope(both)));
    const auto again = [](postgres_server& restarted, address at) -> task<> {
      pg_client c;
      co_await c.connect(at);
      EXPECT_EQ(restarted.rows("t").size(), 1U);
    };
    co_await with_database(options, again);
  });
}

DRIVER_TEST(fakes_restart, "commits are there after a restart on each driver") {
  std::optional<made_folder> own;
  if (make.real()) own.emplace();
  const std::string folder = own ? own->path : "/tmp/heddle-fakes";
  postgres_options options;
  options.folder = folder + "/data";
  runtime rt(make());
  rt.run([&]() -> task<> {
    if (!make.real()) co_await make_directory(folder);
    for (int life = 0; life != 3; ++life) {
      const auto use = [life](postgres_server& server, address at) -> task<> {
        pg_client c;
        co_await c.connect(at);
        co_await c.query("CREATE TABLE IF NOT EXISTS t (key text primary key, value text)");
        EXPECT_EQ(server.rows("t").size(), static_cast<std::size_t>(life));
        EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('" + std::to_string(life) + "', 'x')"),
                  "C(INSERT 0 1) Z(I)");
      };
      co_await with_database(options, use);
    }
  });
}

/// The state of one run: what clients know for certain.
struct transfers {
  std::map<std::string, std::string> acknowledged;  // the marks of answered commits
  std::string wrong;
  std::uint64_t commits = 0, conflicts = 0, unknown = 0;
};

constexpr int keys_count = 4;
constexpr int amount_each = 100;

/// Whether the answer ends with the tag, and the statement was run.
bool done(const std::string& answer, const char* end) { return answer.ends_with(end); }

task<bool> set_up(pg_client& c) {
  if (!done(co_await c.query("CREATE TABLE IF NOT EXISTS t (key text primary key, value text)"),
            "Z(I)"))
    co_return false;
  std::string sql = "INSERT INTO t VALUES ";
  for (int i = 0; i != keys_count; ++i)
    sql +=
        (i == 0 ? "('" : ", ('") + std::to_string(i) + "', '" + std::to_string(amount_each) + "')";
  sql += " ON CONFLICT DO NOTHING";
  const std::string got = co_await c.query(sql);
  co_return got.starts_with("C(INSERT");
}

/// The value in "T(value) D(5) C(SELECT 1) Z(T)"; nothing from any other answer.
std::optional<int> number_in(const std::string& answer) {
  const std::size_t at = answer.find("D(");
  if (at == answer.npos || !answer.ends_with("C(SELECT 1) Z(T)")) return std::nullopt;
  return std::atoi(answer.c_str() + at + 2);
}

/// One transfer, with a mark that says that it was made. False if the connection is of no use.
task<bool> transfer_once(pg_client& c, transfers& all, std::string mark) {
  const std::uint64_t drawn = runtime::here().io().random();
  const std::string from = std::to_string(drawn % keys_count);
  const std::string to = std::to_string((drawn + 1 + drawn / 8 % (keys_count - 1)) % keys_count);
  const int amount = static_cast<int>(drawn / 64 % 10);
  if (!done(co_await c.query("BEGIN"), "Z(T)")) co_return false;
  const auto a = number_in(co_await c.query("SELECT value FROM t WHERE key = '" + from + "'"));
  if (a) co_await sleep_for(1ms);
  std::optional<int> b;
  if (a) b = number_in(co_await c.query("SELECT value FROM t WHERE key = '" + to + "'"));
  std::string got;
  if (b) {
    const std::string sql = "UPDATE t SET value = '" + std::to_string(*a - amount) +
                            "' WHERE key = '" + from + "'; UPDATE t SET value = '" +
                            std::to_string(*b + amount) + "' WHERE key = '" + to +
                            "'; INSERT INTO t VALUES ('" + mark + "', '0')";
    got = co_await c.query(sql);
    if (done(got, "Z(T)")) got = co_await c.query("COMMIT");
  }
  if (got == "C(COMMIT) Z(I)") {
    all.acknowledged[mark] = "0";
    ++all.commits;
    co_return true;
  }
  if (!b || got.find("E(40001)") != got.npos) {
    ++all.conflicts;
    got = co_await c.query("ROLLBACK");
    co_return done(got, "Z(I)");
  }
  ++all.unknown;
  co_return false;
}

task<> transfer_many(transfers& all, std::string name, std::uint64_t count, std::uint64_t& made) {
  pg_client c;
  const address database = *address::parse("10.0.0.1", pg_port);  // the first node
  const std::string hello = co_await c.connect(database);
  if (!done(hello, "Z(I)") || !co_await set_up(c)) co_return;
  while (made != count) {
    ++made;
    const bool goes_on = co_await transfer_once(c, all, name + '-' + std::to_string(made));
    if (!goes_on) co_return;
    co_await sleep_for(200ms);
  }
}

/// Reads all rows and compares: the sum is kept, and no acknowledged transfer is missing.
task<bool> judge_once(transfers& all) {
  pg_client c;
  const std::map<std::string, std::string> before = all.acknowledged;
  const address database = *address::parse("10.0.0.1", pg_port);  // the first node
  if (!done(co_await c.connect(database), "Z(I)")) co_return false;
  if (!co_await set_up(c)) co_return false;
  const std::string got = co_await c.query("SELECT key, value FROM t");
  if (!done(got, "Z(I)")) co_return false;
  int sum = 0;
  for (int i = 0; i != keys_count; ++i) {
    const std::size_t at = got.find("D(" + std::to_string(i) + ",");
    if (at != got.npos) sum += std::atoi(got.c_str() + at + 4);
  }
  if (sum != keys_count * amount_each && all.wrong.empty())
    all.wrong = "half: the sum is not kept\n" + std::to_string(sum);
  for (const auto& [mark, value] : before)
    if (got.find("D(" + mark + ",") == got.npos && all.wrong.empty())
      all.wrong = "lost: an acknowledged transfer\n" + mark;
  co_return true;
}

/// Runs one cluster; gives what is wrong, or "".
std::string run_transfers(const sim::cluster_options& drawn, bool syncs, transfers& all) {
  sim::cluster world(drawn);
  world.add({.name = "database",
             .program = [syncs](sim::node&) { return database_node(syncs); },
             .service = true});
  const std::uint64_t clients = world.size("clients", 3), count = world.size("transfers", 12);
  for (std::uint64_t i = 0; i != clients; ++i) {
    world.add({.name = "user" + std::to_string(i),
               .program = [&all, i, count](sim::node&) -> task<int> {
                 std::uint64_t made = 0;
                 for (int tries = 0; made != count && tries != 100; ++tries) {
                   const std::string name = "u" + std::to_string(i);
                   static_cast<void>(co_await as_expected(
                       with_timeout(transfer_many(all, name, count, made), 3s)));
                   co_await sleep_for(300ms);
                 }
                 co_return 0;
               },
               .spared = true});
  }
  world.add({.name = "judge",
             .program = [&all](sim::node&) -> task<int> {
               for (int looks = 0; looks != 20; ++looks) {
                 static_cast<void>(co_await as_expected(with_timeout(judge_once(all), 2s)));
                 co_await sleep_for(1s);
               }
               // All is healed, and the database must come back.
               for (int tries = 0; tries != 60; ++tries) {
                 const auto looked = co_await as_expected(with_timeout(judge_once(all), 2s));
                 if (looked && *looked) co_return 0;
                 co_await sleep_for(1s);
               }
               if (all.wrong.empty()) all.wrong = "gone: the database does not come back";
               co_return 0;
             },
             .spared = true});
  const sim::outcome end = world.run(10min);
  if (!all.wrong.empty()) return all.wrong;
  return end ? "" : "ends: " + end.why;
}

sim::runs_options transfer_options(std::uint64_t count) {
  sim::runs_options options{.name = "transfers", .seeds = {.count = count}};
  options.cluster.world.link = {.latency = 1ms, .jitter = 2ms};
  options.cluster.world.faults = {.short_transfer = 0.05, .interrupted = 0.02};
  options.cluster.trouble.count_max = 12;
  options.cluster.trouble.until = 15s;
  options.cluster.trouble.kinds = {sim::trouble_kind::kill, sim::trouble_kind::kill,
                                   sim::trouble_kind::pause, sim::trouble_kind::partition};
  return options;
}

HEDDLE_TEST(fakes_transfers, "no acknowledged transfer is lost, and none is half there") {
  transfers totals;
  const sim::runs_options options = transfer_options(160 / seeds_slower);
  const sim::runs_outcome all = sim::for_runs(options, [&](const sim::cluster_options& drawn) {
    transfers one;
    const std::string wrong = run_transfers(drawn, true, one);
    totals.commits += one.commits;
    totals.conflicts += one.conflicts;
    totals.unknown += one.unknown;
    return wrong;
  });
  EXPECT_TRUE(all) << all.failed;
  if (all.ran >= 20 && all.failed.empty()) {
    EXPECT_GT(totals.commits, all.ran);
    EXPECT_GT(totals.conflicts, 0U);
    EXPECT_GT(totals.unknown, 0U);
  }
}

HEDDLE_TEST(fakes_transfers, "a database that answers before the sync is found out") {
  const environment no_seed("HEDDLE_SEED", nullptr), no_time("HEDDLE_HUNT_S", nullptr);
  std::string wrong;
  sim::runs_options options = transfer_options(200);
  options.shrink_runs_max = 0;
  char folder[] = "/tmp/heddle-fakes-runs-XXXXXX";
  options.folder = ::mkdtemp(folder);
  ::testing::internal::CaptureStderr();
  const sim::runs_outcome all = sim::for_runs(options, [&](const sim::cluster_options& drawn) {
    transfers one;
    return run_transfers(drawn, false, one);
  });
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(all) << "no seed of 200 found it";
  EXPECT_TRUE(all.failed.starts_with("lost: ") || all.failed.starts_with("half: "))
      << all.failed << said;
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace heddle::test

// SPDX-License-Identifier: MIT
// The log of the database byte by byte: damage that no torn end explains, records that a torn end
// has left behind, files that are no log, and the folder around it.
#include "heddle/io/file.hh"
#include "pg_client.hh"

namespace heddle::test {
namespace {

/// A body that gives the server time to start, or to fail.
task<> wait_for_start(postgres_server&, address) { co_await sleep_for(1s); }

struct log_life {
  std::string log;  // afterwards
  std::string why;  // the failure of the start
};

/// Runs body(server, address) beside a database whose log begins with these bytes; a body is left
/// out if the database does not start.
template <class Body>
log_life live_with(const std::string& content, Body body, postgres_options options = {}) {
  auto* const world = new sim_driver();
  runtime rt{std::unique_ptr<driver>(world)};
  if (!content.empty()) world->write_file("/data/log", content);
  options.folder = "/data";
  log_life made;
  rt.run([&]() -> task<> {
    try {
      co_await with_database(options, body);
    } catch (const failure& e) {
      made.why = e.what();
    }
  });
  made.log = world->files().at("/data/log");
  return made;
}

/// A log with three commits behind that of the table, and where each of them begins.
struct three_commits {
  std::string log;
  std::vector<std::size_t> begins;
};
three_commits write_three() {
  three_commits made;
  made.log = live_with("", [&](postgres_server&, address at) -> task<> {
               pg_client c;
               co_await c.connect(at);
               co_await c.query("CREATE TABLE t (key text primary key, value text)");
               for (int i = 0; i != 3; ++i) {
                 made.begins.push_back((co_await read_file("/data/log")).size());
                 co_await c.query("INSERT INTO t VALUES ('" + std::to_string(i) + "', 'value')");
               }
             }).log;
  return made;
}

/// A body that gives the server time to start, or to fail.
HEDDLE_TEST(fakes_log, "a file that is no log, and one beyond its limit, stop the start") {
  const auto start = [](const std::string& content) -> std::string {
    auto* const world = new sim_driver();
    runtime rt{std::unique_ptr<driver>(world)};
    world->write_file("/data/log", content);
    std::string why;
    rt.run([&]() -> task<> {
      postgres_options options;
      options.folder = "/data";
      options.log_bytes_max = 100;
      postgres_server server(options);
      const tcp_listener door = tcp_listener::listen(address::loopback(0));
      try {
        co_await server.serve(door);
      } catch (const failure& e) {
        why = e.what();
      }
    });
    return why;
  };
  EXPECT_NE(start("a letter to a friend").find("is no log"), std::string::npos);
  EXPECT_NE(start(std::string(200, 'x')).find("log_bytes_max"), std::string::npos);
}

HEDDLE_TEST(fakes_log, "a full log refuses commits and keeps those before") {
  runtime rt(std::make_unique<sim_driver>());
  postgres_options options;
  options.folder = "/data";
  options.log_bytes_max = 200;
  rt.run(with_database(options, [](postgres_server& server, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    co_await c.query("CREATE TABLE t (key text primary key, value text)");
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('a', '1')"), "C(INSERT 0 1) Z(I)");
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('b', '" + std::string(200, 'x') + "')"),
              "E(53100) Z(I)");
    EXPECT_EQ(server.rows("t").size(), 1U);
  }));
}

HEDDLE_TEST(fakes_log, "all missing levels of the folder are made, and survive a power failure") {
  auto* const world = new sim_driver();
  runtime rt{std::unique_ptr<driver>(world)};
  postgres_options options;
  options.folder = "/a/b//c/";
  rt.run([&]() -> task<> {
    const auto first = [](postgres_server&, address at) -> task<> {
      pg_client c;
      co_await c.connect(at);
      co_await c.query("CREATE TABLE t (key text primary key, value text)");
      EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('a', '1')"), "C(INSERT 0 1) Z(I)");
    };
    co_await with_database(options, first);
    world->crash_disk();
    const auto second = [](postgres_server& server, address at) -> task<> {
      pg_client c;
      co_await c.connect(at);
      EXPECT_EQ(server.rows("t").size(), 1U);
    };
    co_await with_database(options, second);
  });
}

HEDDLE_TEST(fakes_log, "a folder that cannot be made is named") {
  auto* const world = new sim_driver();
  runtime rt{std::unique_ptr<driver>(world)};
  world->write_file("/a/file", "x");
  std::string why;
  rt.run([&]() -> task<> {
    postgres_options options;
    options.folder = "/a/file/b";
    try {
      co_await with_database(options, wait_for_start);
    } catch (const failure& e) {
      why = e.what();
    }
  });
  EXPECT_NE(why.find("cannot make the folder /a/file/b"), std::string::npos) << why;
}

HEDDLE_TEST(fakes_log, "records behind a lost one do not come back with the next equal commit") {
  const three_commits made = write_three();
  std::string damaged = made.log;
  for (std::size_t i = 0; i != 8; ++i) damaged[made.begins[1] + i] = '\0';
  const log_life life = live_with(damaged, [](postgres_server& server, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    EXPECT_EQ(server.rows("t").size(), 1U);
    EXPECT_EQ(co_await c.query("INSERT INTO t VALUES ('1', 'value')"), "C(INSERT 0 1) Z(I)");
  });
  EXPECT_EQ(life.why, "");
  static_cast<void>(live_with(life.log, [](postgres_server& server, address at) -> task<> {
    pg_client c;
    co_await c.connect(at);
    EXPECT_EQ(server.rows("t").size(), 2U);  // not the third one
  }));
}

HEDDLE_TEST(fakes_log, "damage before a whole record stops the start, and changes no byte") {
  const three_commits made = write_three();
  for (const std::size_t at : {made.begins[1] + 8, made.begins[2] - 1}) {
    std::string damaged = made.log;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    const log_life life = live_with(damaged, wait_for_start);
    EXPECT_NE(life.why.find("/data/log is damaged at " + std::to_string(made.begins[1])),
              std::string::npos)
        << life.why;
    EXPECT_EQ(life.log, damaged);
    // Without syncs a power failure may lose any page: the commits before it are taken.
    postgres_options unsynced;
    unsynced.sync_commits = false;
    const auto look = [](postgres_server& server, address to) -> task<> {
      pg_client c;
      co_await c.connect(to);
      EXPECT_EQ(server.rows("t").size(), 1U);
    };
    EXPECT_EQ(live_with(damaged, look, unsynced).why, "");
  }
  std::string torn = made.log;
  torn.back() = static_cast<char>(torn.back() ^ 1);  // the last record: a torn end
  EXPECT_EQ(live_with(torn, wait_for_start).why, "");
}

}  // namespace
}  // namespace heddle::test

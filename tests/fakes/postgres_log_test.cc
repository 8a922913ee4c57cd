// SPDX-License-Identifier: MIT
// The log of the database byte by byte: damage that no torn end explains, records that a torn end
// has left behind, files that are no log, and the folder around it.
#include "heddle/io/file.hh"
#include "pg_client.hh"

namespace heddle::test {
namespace {

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

}  // namespace
}  // namespace heddle::test

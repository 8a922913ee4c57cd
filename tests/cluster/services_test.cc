// SPDX-License-Identifier: MIT
// heddle serve and heddle proxy as nodes of a cluster: they read their settings and files from the
// node's disk, write logs and uploads to it, listen to signals, and end like the programs.
#include <csignal>
#include <cstdlib>
#include <ctime>

#include "cluster/services.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/scope.hh"
#include "heddle/io/file.hh"
#include "heddle/io/tcp.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

const service_options plain_site{.name = "web", .words = {"/www", "--public", "-p", "80"}};

/// Waits until this holds; the end of the run is the limit.
template <class F>
task<> until(F holds) {
  while (!holds()) co_await sleep_for(10ms);
}

/// A cluster with one service, on whose disk a test puts files.
struct one_service {
  explicit one_service(const service_options& o, const sim::cluster_options& world = {})
      : all(world), web(all.add(service_node(o, said))) {
    web.write_file("/www/index.html", "the front page\n");
  }
  /// Runs a user; the verdict of the run.
  template <class F>
  void run(F user) {
    all.add(user_node(std::move(user)));
    const sim::outcome end = all.run(10min);
    EXPECT_TRUE(end) << end.why << '\n' << said << all.trace_text();
  }
  [[nodiscard]] std::string url(const std::string& path) const {
    return "http://" + web.address() + path;
  }
  /// Waits until the service says this, behind all that was waited for before.
  task<> says(std::string text) {
    co_await until([&] { return said.find(text, heard) != std::string::npos; });
    heard = said.find(text, heard) + text.size();
  }

  std::string said;
  std::size_t heard = 0;
  sim::cluster all;
  sim::node& web;
};

HEDDLE_TEST(services, "a node serves the files of its disk, and SIGTERM ends it") {
  one_service world(plain_site);
  world.run([&](sim::node&) -> task<int> {
    co_await world.says("Serving");
    http::client web;
    EXPECT_EQ(co_await get(web, world.url("/")), "the front page\n");
    EXPECT_EQ(co_await get(web, world.url("/none")), "status 404");
    EXPECT_TRUE(world.web.driver().raise_signal(SIGTERM));
    while (world.web.running()) co_await sleep_for(100ms);
    co_return 0;
  });
  EXPECT_EQ(world.web.result(), 0);
  EXPECT_NE(world.said.find("Serving  /www/  (1 file)"), std::string::npos) << world.said;
  EXPECT_NE(world.said.find("network  http://10.0.0.1:80/"), std::string::npos) << world.said;
  EXPECT_NE(world.said.find("2 requests"), std::string::npos) << world.said;
}

HEDDLE_TEST(services, "settings come from the node's disk and variables, and SIGHUP reads again") {
  one_service world({.name = "web",
                     .words = {"--config", "/etc/heddle.conf"},
                     .variables = {"HEDDLE_SERVE_PORT=80", "PATH=/bin"}});
  world.web.write_file("/etc/heddle.conf", "directory = /www\npublic\nheader = A: one\n");
  world.run([&](sim::node&) -> task<int> {
    co_await world.says("Serving");
    http::client web;
    const std::string front = world.url("/");
    const http::fetched before = co_await web.get(front);
    EXPECT_EQ(before.header("A"), "one");
    world.web.write_file("/etc/heddle.conf", "directory = /www\npublic\nheader = A: two\n");
    EXPECT_TRUE(world.web.driver().raise_signal(SIGHUP));
    co_await world.says("Settings read again.");
    const http::fetched after = co_await web.get(front);
    EXPECT_EQ(after.header("A"), "two");
    world.web.write_file("/etc/heddle.conf", "directory = /www\npublic\nheeder = A: three\n");
    EXPECT_TRUE(world.web.driver().raise_signal(SIGHUP));
    co_await world.says("/etc/heddle.conf:3: there is no setting 'heeder'");
    const http::fetched still = co_await web.get(front);
    EXPECT_EQ(still.header("A"), "two");
    co_return 0;
  });
}

HEDDLE_TEST(services, "wrong settings end a node with 2, a missing folder with 1") {
  for (const auto& [words, code, why] :
       {std::tuple(std::vector<std::string>{"/nowhere"}, 1,
                   "cannot serve the directory '/nowhere'"),
        std::tuple(std::vector<std::string>{"/www", "--config", "/none"}, 2,
                   "cannot read the settings in '/none'"),
        std::tuple(std::vector<std::string>{"/www", "--handover", "/run/h"}, 2,
                   "handover: sockets cannot be passed in a simulated world"),
        std::tuple(std::vector<std::string>{"/www", "--direct"}, 1, "leave out --direct"),
        std::tuple(std::vector<std::string>{"/www", "--bind", "[fe80::1%lo]"}, 2,
                   "a simulated world has no interfaces")}) {
    std::string said;
    sim::cluster all;
    sim::node& web = all.add(service_node({.name = "web", .words = words}, said));
    web.write_file("/www/index.html", "x");
    static_cast<void>(all.run(1min));
    EXPECT_EQ(web.result(), code) << said;
    EXPECT_NE(said.find(why), std::string::npos) << said;
  }
}

task<> hold_a_port(std::uint16_t port) {
  const tcp_listener door = tcp_listener::listen(address::any_v4(port));
  co_await sleep_for(1h);
}

HEDDLE_TEST(services, "a taken port ends a node with 1") {
  std::string said;
  sim::cluster all;
  sim::node& web = all.add(service_node({.name = "web",
                                         .words = {"/www", "--public", "-p", "80"},
                                         .beside = [](sim::node&) { return hold_a_port(80); }},
                                        said));
  web.write_file("/www/index.html", "x");
  static_cast<void>(all.run(1min));
  EXPECT_EQ(web.result(), 1) << said;
  EXPECT_NE(said.find("port 80 is in use"), std::string::npos) << said;
}

HEDDLE_TEST(services, "pages of help and wrong words come where the messages of a node come") {
  for (const auto& [words, code, why] :
       {std::tuple(std::vector<std::string>{"/www", "--nonsense"}, 2, "has no option --nonsense"),
        std::tuple(std::vector<std::string>{"/www", "--port="}, 2, "--port needs a value"),
        std::tuple(std::vector<std::string>{"--help"}, 0, "--public"),
        std::tuple(std::vector<std::string>{"--help-limits"}, 0, "--queue-delay"),
        std::tuple(std::vector<std::string>{"--help-site"}, 0, "--upload")}) {
    std::string said;
    sim::cluster all;
    sim::node& web = all.add(service_node({.name = "web", .words = words}, said));
    static_cast<void>(all.run(1min));
    EXPECT_EQ(web.result(), code) << said;
    EXPECT_NE(said.find(why), std::string::npos) << said;
  }
}

HEDDLE_TEST(services, "a process that was killed says nothing more") {
  std::string web_said;
  std::string proxy_said;
  sim::cluster all;
  sim::node& web = all.add(
      service_node({.name = "web",
                    .words = {"/www", "--public", "-p", "80", "--log-file", "/log", "--upload",
                              "/*", "--upload-replace", "--drain-timeout", "1s"}},
                   web_said));
  sim::node& proxy = all.add(service_node(
      {.name = "proxy", .words = {":80", "http://web"}, .is_proxy = true}, proxy_said));
  web.write_file("/www/index.html", "x");
  std::string then;
  all.add(user_node([&](sim::node&) -> task<int> {
    http::client client;
    const std::string url = "http://" + proxy.address() + "/file";
    for (int i = 0; i != 120; ++i) {
      scope asking;
      asking.spawn([](http::client& c, std::string to) -> task<> {
        static_cast<void>(co_await put(c, std::move(to), std::string(200'000, 'x')));
      }(client, url));
      co_await sleep_for(i * 100us);
      sim::node& dies = i % 2 == 0 ? web : proxy;
      if (i % 3 == 0 && dies.running())
        dies.driver().raise_signal(i % 4 == 0 ? SIGHUP : i % 7 == 0 ? SIGTERM : SIGUSR1);
      all.kill(dies, sim::death::process);
      const std::string& said = i % 2 == 0 ? web_said : proxy_said;
      const std::size_t before = said.size();
      co_await sleep_for(1ms);
      then += said.substr(before);
      asking.cancel();
      static_cast<void>(co_await as_expected(asking.join()));
      all.restart(dies);
      co_await sleep_for(100ms);
    }
    co_return 0;
  }));
  const sim::outcome end = all.run(10min);
  EXPECT_TRUE(end) << end.why << web_said << proxy_said;
  EXPECT_EQ(then, "");
}

/// All that a node writes and says while a client asks for a page.
std::string written_by_a_node() {
  one_service world(
      {.name = "web", .words = {"/www", "--public", "-p", "80", "--log-file", "/log"}});
  world.run([&](sim::node&) -> task<int> {
    co_await world.says("Serving");
    http::client web;
    EXPECT_EQ(co_await get(web, world.url("/")), "the front page\n");
    EXPECT_TRUE(world.web.driver().raise_signal(SIGTERM));
    while (world.web.running()) co_await sleep_for(100ms);
    co_return 0;
  });
  return world.web.files().at("/log") + world.said;
}

HEDDLE_TEST(services, "the time zone of the machine does not reach a node") {
  ::setenv("TZ", "ONE-1", 1);
  ::tzset();
  const std::string here = written_by_a_node();
  ::setenv("TZ", "FIVE+5:30", 1);
  ::tzset();
  const std::string there = written_by_a_node();
  ::unsetenv("TZ");
  ::tzset();
  EXPECT_EQ(here, there);
}

/// Asks for the metrics at each address of this node.
task<> ask_itself(std::vector<std::string>& pages) {
  co_await sleep_for(1s);
  http::client web;
  for (const char* host : {"10.0.0.1", "10.0.0.9", "127.0.0.1"})
    pages.push_back(co_await get(web, "http://" + std::string(host) + "/metrics"));
}

HEDDLE_TEST(services, "the metrics are for the node itself, by the addresses that it has") {
  std::string said;
  std::vector<std::string> own;
  sim::cluster all;
  sim::node_options options =
      service_node({.name = "web",
                    .words = {"/www", "--public", "-p", "80", "--metrics"},
                    .beside = [&own](sim::node&) { return ask_itself(own); }},
                   said);
  options.addresses = {"10.0.0.1", "10.0.0.9"};
  sim::node& web = all.add(std::move(options));
  web.write_file("/www/index.html", "x");
  all.add(user_node([&](sim::node&) -> task<int> {
    co_await sleep_for(2s);
    http::client client;
    EXPECT_EQ(co_await get(client, "http://10.0.0.1/metrics"), "status 404");
    co_return 0;
  }));
  const sim::outcome end = all.run(1min);
  EXPECT_TRUE(end) << end.why << said;
  ASSERT_EQ(own.size(), 3U);
  for (const std::string& page : own)
    EXPECT_NE(page.find("heddle_workers 1"), std::string::npos) << page;
}

HEDDLE_TEST(services, "an upload that was acknowledged survives a power failure") {
  one_service world(
      {.name = "web",
       .words = {"/www", "--public", "-p", "80", "--upload", "/in/*", "--upload-replace"}});
  world.web.write_file("/www/in/seed", "x");
  world.run([&](sim::node&) -> task<int> {
    co_await world.says("Serving");
    http::client web;
    for (int i = 0; i != 20; ++i) {
      const std::string body(static_cast<std::size_t>(3000 * i + 1), static_cast<char>('a' + i));
      const std::string at = world.url("/in/file" + std::to_string(i % 3));
      const auto stored = co_await put(web, at, body);
      EXPECT_EQ(stored ? stored->status() / 100 : 0, 2) << body_of(stored);
      world.all.kill(world.web);
      world.all.restart(world.web);
      co_await world.says("Serving");
      EXPECT_EQ(co_await get(web, at), body);
    }
    co_return 0;
  });
}

/// The unfinished upload in the folder /www/in of a node, or nothing.
std::string unfinished_upload(const sim::node& n) {
  for (const auto& [path, content] : n.files())
    if (path.starts_with("/www/in/.upload.")) return path.substr(4);
  return "";
}

/// Begins an upload, and kills the server before its end.
task<> kill_during_upload(one_service& world) {
  scope asking;
  asking.spawn([](std::string at) -> task<> {
    http::client web;
    static_cast<void>(co_await put(web, std::move(at), std::string(10'000'000, 'x')));
  }(world.url("/in/large")));
  while (unfinished_upload(world.web).empty()) co_await sleep_for(100us);
  world.all.kill(world.web, sim::death::process);
  asking.cancel();
  static_cast<void>(co_await as_expected(asking.join()));
  world.all.restart(world.web);
  co_await world.says("Serving");
}

HEDDLE_TEST(services, "a part of an upload that a kill left is never shown, and goes in an hour") {
  one_service world(
      {.name = "web",
       .words = {"/www", "--public", "-p", "80", "--upload", "/in/*", "--hidden", "--archives"}},
      {.time_max = 4h});
  world.web.write_file("/www/in/.seed", "x");
  world.run([&](sim::node&) -> task<int> {
    co_await world.says("Serving");
    co_await kill_during_upload(world);
    const std::string left = unfinished_upload(world.web);
    EXPECT_NE(left, "");
    http::client web;
    EXPECT_EQ(co_await get(web, world.url(left)), "status 404");
    const auto again = co_await put(web, world.url(left), "mine");
    EXPECT_EQ(again ? again->status() : 0, 403);
    for (const char* page : {"/in/", "/in/?archive=tar"}) {
      const std::string all = co_await get(web, world.url(page));
      EXPECT_NE(all.find(".seed"), std::string::npos) << all;
      EXPECT_EQ(all.find(".upload."), std::string::npos) << all;
    }
    co_return 0;
  });
  EXPECT_NE(unfinished_upload(world.web), "");
  world.all.add({.name = "later", .program = [](sim::node&) -> task<int> {
                   co_await sleep_for(2h + 5s);
                   co_return 0;
                 }});
  static_cast<void>(world.all.run(3h));
  EXPECT_EQ(unfinished_upload(world.web), "");
  EXPECT_TRUE(world.web.files().contains("/www/in/.seed"));
}

HEDDLE_TEST(services, "the log is a file of the node, and SIGUSR1 opens it again") {
  const std::string log = "/var/log/web";
  bool rotates = false;
  std::string old;
  // Renames the log, as logrotate does.
  const auto rotate = [&](sim::node&) -> task<> {
    co_await until([&] { return rotates; });
    co_await rename_file(log, log + ".old");
  };
  one_service world({.name = "web",
                     .words = {"/www", "--public", "-p", "80", "--log-file", log, "--log", "json"},
                     .beside = rotate});
  world.web.write_file("/var/log/other", "");
  const auto has = [&](const std::string& path, const char* text) {
    const auto all = world.web.files();
    const auto found = all.find(path);
    return found != all.end() && found->second.find(text) != std::string::npos;
  };
  world.run([&](sim::node&) -> task<int> {
    co_await world.says("Serving");
    http::client web;
    EXPECT_EQ(co_await get(web, world.url("/")), "the front page\n");
    co_await until([&] { return has(log, "\"target\":\"/\""); });
    rotates = true;
    co_await until([&] { return has(log + ".old", ""); });
    EXPECT_TRUE(world.web.driver().raise_signal(SIGUSR1));
    co_await until([&] { return has(log, ""); });
    EXPECT_EQ(co_await get(web, world.url("/other")), "status 404");
    co_await until([&] { return has(log, "\"target\":\"/other\""); });
    co_return 0;
  });
  EXPECT_FALSE(has(log + ".old", "/other"));
  EXPECT_FALSE(has(log, "\"target\":\"/\""));
}

HEDDLE_TEST(services, "a list, an archive and hidden names look as on any disk") {
  one_service world({.name = "web", .words = {"/www", "--public", "-p", "80", "--archives"}});
  world.web.write_file("/www/docs/a.txt", "A");
  world.web.write_file("/www/docs/b.txt", "BB");
  world.web.write_file("/www/docs/.secret", "no");
  world.run([&](sim::node&) -> task<int> {
    co_await world.says("Serving");
    http::client web;
    const std::string list = co_await get(web, world.url("/docs/"));
    EXPECT_NE(list.find("a.txt"), std::string::npos) << list;
    EXPECT_EQ(list.find("secret"), std::string::npos) << list;
    EXPECT_EQ(co_await get(web, world.url("/docs/.secret")), "status 404");
    const std::string tar = co_await get(web, world.url("/docs/?archive=tar"));
    EXPECT_NE(tar.find("b.txt"), std::string::npos);
    EXPECT_EQ(tar.find("secret"), std::string::npos);
    co_return 0;
  });
}

HEDDLE_TEST(services, "a socket file that a dead server left is replaced, another file stays") {
  one_service world(
      {.name = "web", .words = {"/www", "--public", "-p", "80", "--listen", "unix:/run/web.sock"}});
  world.run([&](sim::node&) -> task<int> {
    co_await world.says("Serving");
    http::client web;
    world.all.kill(world.web, sim::death::process);  // the disk keeps the socket file
    world.all.restart(world.web);
    co_await world.says("Serving");
    EXPECT_EQ(co_await get(web, world.url("/")), "the front page\n");
    world.all.kill(world.web, sim::death::process);
    world.web.write_file("/run/web.sock", "mine");
    world.all.restart(world.web);
    co_await world.says("it is not a socket, and stays");
    co_await until([&] { return !world.web.running(); });
    co_return 0;
  });
  EXPECT_EQ(world.web.files().at("/run/web.sock"), "mine");
}

HEDDLE_TEST(services, "heddle proxy goes on with one of two servers") {
  std::string said;
  sim::cluster all;
  const std::vector<std::string> words{"/www", "--public", "-p", "80"};
  sim::node& one = all.add(service_node({.name = "web1", .words = words}, said));
  sim::node& two = all.add(service_node({.name = "web2", .words = words}, said));
  for (sim::node* n : {&one, &two}) n->write_file("/www/name", n->name());
  sim::node& proxy = all.add(service_node(
      {.name = "proxy", .words = {":80", "http://web1", "http://web2"}, .is_proxy = true}, said));
  all.add(user_node([&](sim::node&) -> task<int> {
    co_await sleep_for(1s);
    http::client web;
    const std::string url = "http://" + proxy.address() + "/name";
    std::set<std::string> seen;
    for (int i = 0; i != 8; ++i) seen.insert(co_await get(web, url));
    EXPECT_EQ(seen, (std::set<std::string>{"web1", "web2"}));
    all.kill(one);
    for (int i = 0; i != 8; ++i) EXPECT_EQ(co_await get(web, url), "web2") << i;
    co_return 0;
  }));
  const sim::outcome end = all.run(10min);
  EXPECT_TRUE(end) << end.why << said;
  EXPECT_NE(said.find("upstream http://web1"), std::string::npos) << said;
}

}  // namespace
}  // namespace heddle::test

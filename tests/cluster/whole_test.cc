// SPDX-License-Identifier: MIT
// Random runs of a whole site: visitors, heddle proxy before two of heddle serve, a name server and
// a database, while links are cut, processes pause and die, clocks differ, and operations fail.
// Bodies are derived from their names, an upload that was acknowledged stays, a committed row
// stays, everything answers again once all is healed, and one seed is one run.
#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <utility>

#include "cluster/random_run.hh"
#include "cluster/services.hh"
#include "fakes/pg_client.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/scope.hh"
#include "heddle/fakes/dns.hh"
#include "heddle/io/udp.hh"
#include "heddle/sim/runs.hh"
#include "support/draws.hh"
#include "support/seeds.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

constexpr nanoseconds trouble_ends = 20s;
constexpr std::uint64_t pages_count = 6;
constexpr nanoseconds cache_trust = 1500ms;  // a change of a file shows within a second
constexpr const char* site_name = "site.example";
constexpr const char* once_path = "/once/";

constexpr sim_rates site_rates{.short_transfer = 0.1,
                               .interrupted = 0.02,
                               .reset = 0.002,
                               .no_memory = 0.001,
                               .no_descriptors = 0.001,
                               .io_error = 0.001,
                               .delayed = 0.01};

/// What the runs did, and how much of it.
struct site_totals {
  std::uint64_t pages = 0, uploads = 0, posts = 0, rows = 0, told = 0, kills = 0, stops = 0,
                faults = 0;
};

/// The body that belongs to a name: its length and bytes follow from it.
std::string body_for(std::string_view name, std::size_t length) {
  std::string body;
  body.reserve(length + name.size());
  while (body.size() < length) (body += name) += static_cast<char>('!' + body.size() % 89);
  body.resize(length);
  return body;
}

task<> answer_names(fakes::dns_server& names) {
  const udp_socket udp = udp_socket::bind(address::any_v4(53));
  const tcp_listener tcp = tcp_listener::listen(address::any_v4(53));
  co_await names.serve(udp, tcp);
}

task<> answer_statements(postgres_server& rows) {
  const tcp_listener door = tcp_listener::listen(address::any_v4(5432));
  co_await rows.serve(door);
}

task<int> name_server(std::string site_address) {
  fakes::dns_server names({.ttl = 2s});
  names.add_address(site_name, address::parse(site_address, 0).value());
  const std::uint64_t drawn = runtime::here().io().random();
  names.set_faults(site_name, {.delay = drawn % 7 == 0 ? 200ms : 0ms,
                               .silent = drawn % 5 == 0,
                               .truncated = drawn % 3 == 0,
                               .wrong_ids = static_cast<std::uint16_t>(drawn % 2),
                               .times = 4});
  co_return co_await serve_always(names, &answer_names);
}

task<int> database() {
  postgres_server rows({.folder = "/data"});
  co_return co_await serve_always(rows, &answer_statements);
}

/// The state of a name that one visitor writes: what it may hold.
struct upload_state {
  std::string acknowledged;        // the last body that the server has confirmed
  std::set<std::string> possible;  // bodies whose outcome is not known
};

class random_site {
 public:
  random_site(const sim::cluster_options& drawn, site_totals& totals)
      : draw_(drawn.world.seed),
        seed_(drawn.world.seed),
        totals_(totals),
        all_(with_drawn_faults(drawn, site_rates)) {
    const std::vector<std::string> words{
        "/www",  "--public",         "-p",         "80",          "--upload",
        "/in/*", "--upload-replace", "--log-file", "/var/log/web"};
    for (const char* name : {"web1", "web2"}) {
      webs_.push_back(&add(service_node({.name = name, .words = words}, said_)));
      for (std::uint64_t i = 0; i != pages_count; ++i)
        webs_.back()->write_file("/www/" + page_name(i), body_for(page_name(i), page_bytes(i)));
      webs_.back()->write_file("/www/in/here", "");
      webs_.back()->write_file("/var/log/web", "");
    }
    sim::node& proxy = add(service_node(
        {.name = "proxy",
         .words = {":80", "http://web1", "http://web2", "--fail", "3", "--fail-pause", "1s"},
         .is_proxy = true},
        said_));
    sim::node& names =
        add({.name = "names",
             .program = [at = proxy.address()](sim::node&) { return name_server(at); },
             .service = true});
    rows_ =
        &add({.name = "rows", .program = [](sim::node&) { return database(); }, .service = true});
    rows_->write_file("/data/here", "");
    sim::node& user = all_.add(user_node([this](sim::node&) { return visit(); }));
    user.write_file("/etc/resolv.conf",
                    "nameserver " + names.address() + "\noptions timeout:1 attempts:2\n");
    supervise();
    for (std::uint64_t stops = draw_.below(3); stops != 0; --stops)
      all_.at(draw_.span(trouble_ends), [this, i = draw_.below(2)] { stop(*webs_[i]); });
  }

  /// Gives what is wrong, or "".
  std::string run() {
    const sim::outcome end = all_.run(20min);
    const sim::run_file record = all_.record();
    for (const sim::trouble& t : record.troubles)
      totals_.kills += t.kind == sim::trouble_kind::kill ? 1 : 0;
    totals_.faults += record.faults.size();
    if (!end) wrong(verdict_on(end));
    return wrong_.empty() ? "" : wrong_ + '\n' + said_;
  }

 private:
  sim::node& add(sim::node_options options) {
    options.clock_offset = draw_.span(1h);
    options.clock_rate = 1 + static_cast<double>(draw_.below(2000)) * 1e-6;
    options.runtime.report = [this](const diagnostic& d) {
      // A handler may fail with a fault of the disk: the client gets 500.
      if (!std::string_view(to_string(d)).contains("failed-handler"))
        wrong("reported: " + to_string(d));
    };
    return all_.add(std::move(options));
  }
  /// Starts a service again that has ended by itself, as a service manager does.
  void supervise() {
    for (nanoseconds at = 1s; at < 5min; at += 1s)
      all_.at(at, [this] {
        for (const auto& n : all_.nodes())
          if (!n->running() && n->result() && n->name() != "user") {
            all_.restart(*n);
          }
      });
  }

  /// Asks a service to end after its requests; supervise() starts it again.
  void stop(sim::node& web) {
    if (web.running() && web.driver().raise_signal(SIGTERM)) ++totals_.stops;
  }

  void wrong(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }

  static std::string page_name(std::uint64_t i) { return "page" + std::to_string(i) + ".txt"; }
  static std::size_t page_bytes(std::uint64_t i) { return std::size_t{1} << (3 * i + 2); }

  // What visitors do. Each gives whether it went well.
  task<bool> read_page(http::client& web, std::uint64_t i) {
    const std::string name = page_name(i);
    const auto got = co_await as_expected(web.get("http://" + std::string(site_name) + "/" + name));
    if (!got || got->status() != 200) co_return told();
    if (got->body != body_for(name, page_bytes(i))) wrong("changed: a page has another body");
    ++totals_.pages;
    co_return true;
  }
  task<bool> write_file(http::client& web, std::uint64_t visitor, std::uint64_t drawn) {
    const sim::node& to = *webs_[drawn % 2];
    const std::string name = to.name() + "-" + std::to_string(visitor);
    upload_state& state = uploads_[name];
    const std::string body = body_for(name + std::to_string(drawn), drawn % 20'000 + 1);
    const std::string url = "http://" + to.address() + "/in/" + name;
    state.possible.insert(body);
    const auto got = co_await put(web, url, body);
    if (!got || got->status() / 100 != 2) co_return told();
    state.acknowledged = body;
    state.possible.erase(body);
    ++totals_.uploads;
    co_await sleep_for(cache_trust);
    co_return co_await read_back(web, url, state);
  }
  task<bool> read_back(http::client& web, std::string url, const upload_state& state) {
    const auto got = co_await as_expected(web.get(url));
    if (!got || (got->status() != 200 && got->status() != 404)) co_return told();
    const std::string body = got->status() == 404 ? "" : got->body;
    if (body == state.acknowledged || state.possible.contains(body)) co_return true;
    wrong((body.empty() ? "lost: an upload that was acknowledged"
                        : "mixed: a file is neither the old nor the new one") +
          ("\n" + url + ": " + std::to_string(body.size()) + " bytes, acknowledged were " +
           std::to_string(state.acknowledged.size())));
    co_return false;
  }
  /// Sends through the proxy what no server may see twice: their logs tell at the end.
  task<bool> post_once(http::client& web, std::uint64_t number) {
    http::outgoing what("POST",
                        "http://" + std::string(site_name) + once_path + std::to_string(number));
    what.body("text/plain", "once");
    const auto got = co_await as_expected(web.send(std::move(what)));
    ++totals_.posts;
    if (!got || got->status() / 100 == 5) co_return told();
    co_return true;
  }
  void check_posts() {
    std::map<std::string, int> seen;
    for (const sim::node* web : webs_) {
      const std::string log = web->files()["/var/log/web"];
      for (std::size_t at = 0; (at = log.find(once_path, at)) != log.npos; ++at)
        ++seen[log.substr(at, log.find(' ', at) - at)];
    }
    for (const auto& [path, times] : seen)
      if (times > 1) wrong("twice: a POST was sent again\n" + path);
  }
  task<bool> add_row(std::uint64_t number) {
    pg_client c;
    const address at = address::parse(rows_->address(), 5432).value();
    const auto opened = co_await as_expected(c.connect(at));
    if (!opened || !opened->ends_with("Z(I)")) co_return told();
    const std::string made =
        co_await c.query("CREATE TABLE IF NOT EXISTS t (key text primary key, value text)");
    if (!made.ends_with("Z(I)")) co_return told();
    const std::string key = "k" + std::to_string(number);
    const std::string added = co_await c.query("INSERT INTO t VALUES ('" + key + "', '1')");
    if (!added.starts_with("C(INSERT")) co_return told();
    keys_.push_back(key);
    ++totals_.rows;
    co_return true;
  }
  task<bool> check_rows() {
    pg_client c;
    const address at = address::parse(rows_->address(), 5432).value();
    const auto opened = co_await as_expected(c.connect(at));
    if (!opened || !opened->ends_with("Z(I)")) co_return told();
    for (const std::string& key : keys_) {
      const std::string got = co_await c.query("SELECT value FROM t WHERE key = '" + key + "'");
      if (!got.ends_with("Z(I)") || got.contains("E(")) co_return told();
      if (!got.contains("D(1)")) wrong("lost: a committed row");
    }
    co_return true;
  }
  bool told() {
    ++totals_.told;
    return false;
  }

  /// Each step has draws and a time of its own, so that leaving out a fault moves no step that the
  /// fault did not touch.
  task<> visitor(std::uint64_t number) {
    http::client web;
    nanoseconds at{0};
    for (std::uint64_t i = 0; at < trouble_ends; ++i) {
      draws draw(seed_, 2 + number * 1000 + i);
      at += draw.span(2s);
      co_await sleep_for(std::max(at - all_.time(), 0ns));
      const std::uint64_t what = draw.below(5);
      task<bool> step = what == 0   ? write_file(web, number, draw.next() >> 1)
                        : what == 1 ? add_row(number * 1000 + i)
                        : what == 2 ? post_once(web, number * 1000 + i)
                                    : read_page(web, draw.below(pages_count));
      static_cast<void>(co_await as_expected(with_timeout(std::move(step), 10s)));
    }
  }

  /// Repeats a step until it goes well, for 60 s.
  template <class Step>
  task<> until_well(const char* what, Step step) {
    for (int tries = 0; tries != 60; ++tries) {
      const auto well = co_await as_expected(with_timeout(step(), 10s));
      if (well && *well) co_return;
      co_await sleep_for(1s);
    }
    wrong(std::string("silent: after healing, ") + what);
  }

  task<int> visit() {
    {
      scope visitors;
      const std::uint64_t count = all_.size("visitors", 3);
      for (std::uint64_t i = 0; i != count; ++i) visitors.spawn(visitor(i));
      co_await visitors.join();
    }
    co_await sleep_for(5s);
    http::client web;
    co_await until_well("pages", [&] { return read_page(web, 0); });
    co_await until_well("rows", [&] { return check_rows(); });
    for (const auto& [name, state] : uploads_) {
      const sim::node& at = *all_.find(name.substr(0, 4));
      const std::string url = "http://" + at.address() + "/in/" + name;
      co_await until_well("uploads", [&] { return read_back(web, url, state); });
    }
    check_posts();
    co_return 0;
  }

  draws draw_;
  std::uint64_t seed_;
  site_totals& totals_;
  std::string wrong_, said_;
  std::map<std::string, upload_state> uploads_;
  std::vector<std::string> keys_;
  std::vector<sim::node*> webs_;
  sim::node* rows_ = nullptr;
  sim::cluster all_;
};

HEDDLE_TEST(site_seeds, "a whole site loses and changes nothing, and answers again after trouble") {
  site_totals sum;
  const sim::runs_outcome all =
      sim::for_runs({.name = "site",
                     .seeds = {.count = 100 / seeds_slower},
                     .cluster = {.trouble = {.count_max = 12, .until = trouble_ends}}},
                    [&](const sim::cluster_options& drawn) -> std::string {
                      random_site site(drawn, sum);
                      return site.run();
                    });
  EXPECT_TRUE(all) << all.failed;
  if (judges_totals({.ran = all.ran}, 50)) {
    EXPECT_GT(sum.pages, 500U);
    EXPECT_GT(sum.uploads, 200U);
    EXPECT_GT(sum.posts, 200U);
    EXPECT_GT(sum.rows, 200U);
    EXPECT_GT(sum.told, 50U);
    EXPECT_GT(sum.kills, 20U);
    EXPECT_GT(sum.stops, 20U);
    EXPECT_GT(sum.faults, 500U);
  }
}

}  // namespace
}  // namespace heddle::test

// SPDX-License-Identifier: MIT
// The parties of a run, and the run itself: visitors, perhaps a proxy, servers that may drain and
// begin again, the layers below them, and the checks of every end. A test says which parties and
// layers there are; the seed draws all else.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/proxy/reverse_proxy.hh"
#include "heddle/sync/latch.hh"
#include "roles/talk_by_hand.hh"
#include "roles/wire_client.hh"
#include "support/drivers.hh"
#include "support/hang_watch.hh"
#include "support/resplit.hh"
#include "support/seeds.hh"
#if HEDDLE_WITH_TLS
#include "heddle/tls/stream.hh"
#include "support/tls_files.hh"
#endif

namespace heddle::test::roles {

/// The stream below HTTP. The last two need room tls.
enum class layer : std::uint8_t { tcp, resplit, tls, tls_own_records };

struct cast {
  bool http2 = false;           // our clients speak HTTP/2
  layer below = layer::tcp;     // between clients and the first server
  bool proxied = false;         // a proxy between clients and servers
  bool upstream_http2 = false;  // between the proxy and the servers
  layer upstream = layer::tcp;
  /// Each party in a color of its own, for several workers.
  bool colors = false;
  bool talks = false;  // WebSockets, beside some requests
};

/// The end of one life of a server, and the time until its next one.
struct restart {
  nanoseconds after{};
  bool graceful = true;
  nanoseconds down{};
};

/// Everything that a run draws.
struct run_plan {
  run_plan(std::uint64_t number, const cast& of, script_options o, draws d, kinds kinds_on)
      : seed(number), parties(of), on(kinds_on) {
    plays = draw_script(d, on, o);
    if (of.talks) draw_talks(d, o);
    const auto brief = [&] { return std::chrono::milliseconds(100) + d.pause(o.pause_max); };
    const bool brief_limits = on.has(step::short_limits);
    server.body_bytes_per_second_min = 0;
    const nanoseconds long_time = std::chrono::minutes(20);
    for (nanoseconds* each : {&server.header_timeout, &server.body_timeout, &server.write_timeout,
                              &client.timeouts.answer, &client.timeouts.transfer})
      *each = brief_limits && d.one_of(2) ? brief() : long_time;
    if (!brief_limits) client.http2.ping_timeout = long_time;  // an answer waits behind bodies
    client.timeouts.whole = std::chrono::hours(2);
    client.timeouts.connect = brief_limits ? brief() : long_time;
    server.linger_timeout = brief_limits ? brief() : long_time;
    const bool idles = d.one_of(3);
    if (idles) server.idle_timeout = brief();
    if (d.one_of(3)) client.timeouts.idle = brief();
    server.drain_grace = d.pause(o.pause_max);
    server.pipeline_max = 1 + d.below(5);
    if (d.one_of(2)) server.corked_bytes_max = 1 + d.below(5000);
    client.per_origin_max = static_cast<std::uint32_t>(1 + d.below(8));
    client.http2.prior_knowledge = of.http2;
    if (d.one_of(2)) client.http2.stream_window = static_cast<std::uint32_t>(16'384 << d.below(3));
    if (d.one_of(2)) client.http2.streams_max = static_cast<std::uint32_t>(1 + d.below(4));
    if (on.has(step::restarts))
      for (std::size_t i = 1 + d.below(3); i != 0; --i)
        restarts.push_back({d.pause(o.pause_max) + nanoseconds(1'000'000), !d.one_of(3),
                            d.one_of(2) ? nanoseconds(0) : d.pause(o.pause_max)});
    draw_proxy(d, o, brief_limits);
    draw_world(d, o);
    // A server that closes an idle connection may meet a request.
    calm = !brief_limits && !idles && !on.has(step::resets) && !on.has(step::restarts);
  }

  std::uint64_t seed;
  cast parties;
  kinds on;
  std::vector<visit_plan> plays;
  std::vector<talk_plan> talks;
  http::server_options server;
  http::client_options client;
  http::proxy_options proxy;
  std::vector<restart> restarts;        // of the server, or of the first upstream
  std::vector<restart> front_restarts;  // of the proxy
  sim_options world;
  /// Whether nothing in this run is a reason for an error.
  bool calm = false;

 private:
  static http::balance balance_of(std::uint64_t number) {
    const http::balance all[] = {http::balance::round_robin, http::balance::least_requests,
                                 http::balance::client_address};
    return all[number];
  }
  void draw_talks(draws& d, const script_options& o) {
    plays.resize(d.below(plays.size() + 1) / 2);  // most visitors talk
    const talk_kinds kinds_of_talk(d);
    for (std::uint64_t i = 1 + d.below(3); i != 0; --i)
      talks.push_back(draw_talk(d, kinds_of_talk, i, on.has(step::short_limits), o.pause_max));
  }
  void draw_proxy(draws& d, const script_options& o, bool brief_limits) {
    const auto brief = [&] { return std::chrono::milliseconds(100) + d.pause(o.pause_max); };
    for (nanoseconds* each : {&proxy.timeouts.connect, &proxy.timeouts.answer,
                              &proxy.timeouts.transfer, &proxy.timeouts.queue})
      *each = brief_limits && d.one_of(2) ? brief() : nanoseconds(std::chrono::minutes(20));
    if (d.one_of(2)) proxy.timeouts.go_ahead = brief();
    if (d.one_of(2)) proxy.connections_max = static_cast<std::uint32_t>(1 + d.below(8));
    if (d.one_of(2)) proxy.repeat_bytes_max = d.size(o.bytes_max);
    const http::balance ways[] = {http::balance::round_robin, http::balance::least_requests,
                                  http::balance::client_address};
    proxy.by = ways[d.below(3)];
    // A client by hand ends its side behind the last byte that it has for an upgraded connection.
    proxy.cancel_when_client_ends = !on.has(step::upgrades);
    if (on.has(step::restarts) && parties.proxied && d.one_of(2))
      front_restarts.push_back({d.pause(o.pause_max) + nanoseconds(1'000'000), !d.one_of(3), {}});
  }
  void draw_world(draws& d, const script_options& o) {
    world.seed = seed;
    world.link.latency = nanoseconds(d.below(10'000'000));
    world.link.jitter = nanoseconds(d.below(5'000'000));
    if (on.has(step::slow_links)) world.link.bytes_per_second = 3'000 + d.below(100'000);
    world.socket_buffer_bytes = static_cast<std::uint32_t>(4'096 << d.below(4));
    if (on.has(step::short_transfers)) world.faults.short_transfer = 0.5;
    const double late[] = {0.02, 0.2, 0.5};
    if (on.has(step::delays)) world.faults.delayed = late[d.below(3)];
    if (on.has(step::resets)) world.faults.reset = d.one_of(2) ? 0.002 : 0.01;
    world.fault_delay_max = d.pause(o.pause_max) + std::chrono::milliseconds(1);
    world.reuse_descriptors = d.one_of(2);
  }
};

#if HEDDLE_WITH_TLS
/// Handshakes may take as long as the delays of a run make them.
inline tls::limits patient() {
  tls::limits bounds;
  bounds.handshake_timeout = std::chrono::minutes(20);
  return bounds;
}
inline tls::server_context site_of(layer below, bool http2) {
  std::vector<std::string> protocols{"http/1.1"};
  if (http2) protocols.insert(protocols.begin(), "h2");
  return tls::server_context({.certificates = {tls_files::get().certificate("site")},
                              .alpn = std::move(protocols),
                              .bounds = patient(),
                              .own_records = below == layer::tls_own_records});
}
inline tls::client_context trust_of(bool http2) {
  std::vector<std::string> protocols{"http/1.1"};
  if (http2) protocols.insert(protocols.begin(), "h2");
  return tls::client_context({.authorities = tls_files::get().authority(),
                              .alpn = std::move(protocols),
                              .bounds = patient()});
}
#endif

[[nodiscard]] inline bool is_secure(layer below) noexcept {
  return below == layer::tls || below == layer::tls_own_records;
}

inline listener lay_below([[maybe_unused]] layer below, tcp_listener door,
                          [[maybe_unused]] bool http2) {
  if (below == layer::resplit)
    return make_listener(std::make_unique<resplit_source>(std::move(door)));
#if HEDDLE_WITH_TLS
  if (is_secure(below)) return tls::listen(std::move(door), site_of(below, http2));
#endif
  return door;
}

/// What a run has seen.
struct record_book {
  explicit record_book(const run_plan& of) : exchanges(of.plays) {
    for (const talk_plan& p : of.talks) talks.push_back(std::make_unique<talk>(p));
  }

  [[nodiscard]] task<http::response> answer(http::request& r) const {
    const std::string_view path = r.path();
    if (path == "/hello") co_return http::response(200).text("hello");
    if (!path.starts_with("/ws/")) co_return co_await answer_exchange(exchanges, r);
    for (const auto& t : talks)
      if (path.substr(4) == std::to_string(t->p.id)) co_return co_await answer_talk(*t, r);
    ADD_FAILURE() << "a WebSocket for " << path << ", which nobody asked for";
    co_return http::response(404);
  }

  ledger exchanges;
  std::vector<std::unique_ptr<talk>> talks;
};

/// A server of a run, with its lives.
struct server_party {
  server_party(const run_plan& of, layer on, bool speaks_http2)
      : plan(of), below(on), http2(speaks_http2), over(1) {}

  [[nodiscard]] http::server_options options() const {
    http::server_options o = plan.server;
    o.failed = [](const http::request_head&, const std::exception_ptr& what) {
      try {
        std::rethrow_exception(what);
      } catch (const planned_failure&) {
      } catch (const std::system_error&) {
        // The client went away, or the connection broke.
      } catch (const std::exception& e) {
        ADD_FAILURE() << "a handler ended with " << e.what();
      }
    };
    return o;
  }

  /// Serves until `over`, in one life after the other, at an address that it tells first.
  static task<> serve(server_party& self, std::function<http::handler()> make,
                      std::vector<restart> restarts, event<address> tells) {
    struct mark {
      explicit mark(server_party& s) : of(s) {}
      mark(const mark&) = delete;
      ~mark() { of.alive = false; }
      server_party& of;
    } const at_end(self);
    tcp_listener door = tcp_listener::listen(address::loopback(0));
    const address at = door.local();
    tells.trigger(at);
    for (std::size_t life = 0;; ++life) {
      const http::handler handle = make();
      http::server web(handle, self.options());
      scope s;
      s.spawn(web.serve(lay_below(self.below, std::move(door), self.http2)));
      const bool last = life == restarts.size();
      const nanoseconds span = last ? nanoseconds(std::chrono::hours(3)) : restarts[life].after;
      const auto waited = co_await as_expected(with_timeout(self.over.wait(), span));
      // What the visitors sent last is on its way.
      for (int i = 0; waited && web.counters().open != 0 && i < 200; ++i)
        co_await sleep_for(std::chrono::milliseconds(50));
      web.stop();
      if (waited || last || !restarts[life].graceful) web.stop();
      co_await s.settled();
      s.rethrow_failure();
      EXPECT_EQ(web.counters().open, 0u) << "connections are left behind a drained server";
      if (waited || last) break;
      ++self.lives;
      if (restarts[life].down != nanoseconds::zero()) co_await sleep_for(restarts[life].down);
      // The kernel frees the address when the last descriptor has been closed, a moment later.
      for (int tries = 0; !door; ++tries) {
        try {
          door = tcp_listener::listen(at);
        } catch (const std::system_error& e) {
          if (e.code() != std::errc::address_in_use || tries == 100) throw;
        }
        if (!door) co_await sleep_for(std::chrono::milliseconds(10));
      }
    }
  }
  static task<> end(server_party& self) {
    self.over.count_down();
    co_return;
  }

  const run_plan& plan;
  layer below;
  bool http2;
  latch over;
  int lives = 1;
  std::atomic<bool> alive{true};
};

inline std::string site_at(address at, layer below) {
  return (is_secure(below) ? "https://" : "http://") + at.to_string();
}

inline http::client_options client_of(const run_plan& plan) {
  http::client_options options = plan.client;
#if HEDDLE_WITH_TLS
  if (is_secure(plan.parties.below)) {
    const tls::client_context trust = trust_of(plan.parties.http2);
    options.secure = [trust](stream over, std::string host) {
      return tls::connect(std::move(over), std::move(host), trust);
    };
  }
#endif
  return options;
}

/// A connection for a client by hand, which speaks HTTP/1.1.
inline task<stream> connect_by_hand(address at, [[maybe_unused]] layer below) {
  stream over = co_await tcp_connect(at);
#if HEDDLE_WITH_TLS
  if (is_secure(below)) {
    const tls::client_context trust = trust_of(false);
    co_return co_await tls::connect(std::move(over), "localhost", trust);
  }
#endif
  co_return over;
}

/// A visitor, with a client of its own or with a connection that it writes to itself.
inline task<> visit(const ledger& all, const run_plan& plan, const visit_plan& v, address at) {
  const cast& c = plan.parties;
  if (v.by_hand) {
    connector connect = [at, below = c.below] { return connect_by_hand(at, below); };
    const pipelining how = !plan.on.has(step::pipelines) ? pipelining::none
                           : plan.calm                   ? pipelining::careful
                                                         : pipelining::reckless;
    co_await play_by_hand(all, v, std::move(connect), how);
    co_return;
  }
  http::client web(client_of(plan));
  const std::string site = site_at(at, c.below);
  // Several at once: over HTTP/2 on one connection.
  for (std::size_t i = 0; i < v.exchanges.size();) {
    scope s;
    for (std::size_t n = 1 + (plan.seed + i) % 3; n != 0 && i < v.exchanges.size(); --n, ++i)
      s.spawn(play_exchange(web, v.exchanges[i], all.of(v.exchanges[i]), site));
    co_await s.join();
  }
}

/// The client's end of a talk.
inline task<> visit_talk(talk& t, const run_plan& plan, address at) {
  const layer below = plan.parties.below;
  try {
    if (t.p.by_hand) {
      stream on = co_await connect_by_hand(at, below);
      frames_by_hand self(t, std::move(on));
      co_await with_scope(&frames_by_hand::run, std::ref(self), at.to_string());
      co_return;
    }
    http::client web(client_of(plan));
    const std::string site = site_at(at, below);
    // A connection of HTTP/2 that is there takes the talk as a stream.
    if (t.p.id % 2 == 0) static_cast<void>(co_await as_expected(web.get(site + "/hello")));
    const http::websocket_options options = t.p.sides[0].options;
    http::websocket ws =
        co_await web.open_websocket(site + "/ws/" + std::to_string(t.p.id), options);
    co_await run_side(t, 0, std::move(ws));
  } catch (const std::system_error& e) {
    // Its client is told; in a calm world the judge finds that it did not begin.
    t.seen[0].why = e.what();
  }
}

/// The proxy in front of these servers.
inline http::handler proxy_to(const run_plan& plan, std::vector<std::string> upstreams) {
  http::proxy_options options = plan.proxy;
  options.upstreams = std::move(upstreams);
#if HEDDLE_WITH_TLS
  if (is_secure(plan.parties.upstream)) {
    const tls::client_context trust = trust_of(plan.parties.upstream_http2);
    const tls::client_context old = trust_of(false);
    options.secure_layer = [trust](stream over, std::string host) {
      return tls::connect(std::move(over), std::move(host), trust);
    };
    options.secure_layer_http1 = [old](stream over, std::string host) {
      return tls::connect(std::move(over), std::move(host), old);
    };
  }
#endif
  return http::reverse_proxy(std::move(options));
}

/// The servers of a run, the last of which the visitors ask.
class stage {
 public:
  stage(const record_book& all, const run_plan& of) : all_(all), plan_(of) {}

  task<> begin() {
    const cast& c = plan_.parties;
    const std::function<http::handler()> handles = [&all = all_] {
      return http::handler([&all](http::request& r) { return all.answer(r); });
    };
    if (!c.proxied) co_return co_await add(c.below, c.http2, handles, plan_.restarts);
    std::vector<std::string> upstreams;
    for (const bool first : {true, false}) {
      const std::vector<restart> restarts = first ? plan_.restarts : std::vector<restart>();
      co_await add(c.upstream, c.upstream_http2, handles, restarts);
      const std::string scheme = is_secure(c.upstream) ? "https://"
                                 : c.upstream_http2    ? "h2c://"
                                                       : "http://";
      upstreams.push_back(scheme + front.to_string());
    }
    const std::function<http::handler()> proxies = [&plan = plan_, upstreams] {
      return proxy_to(plan, upstreams);
    };
    co_await add(c.below, c.http2, proxies, plan_.front_restarts);
  }
  /// Ends all servers, the first that was added at last.
  task<> end() {
    for (std::size_t i = parties_.size(); i-- != 0;) {
      servers_.spawn(color_of(i), server_party::end(*parties_[i]));
      while (parties_[i]->alive) co_await sleep_for(std::chrono::milliseconds(1));
    }
    co_await servers_.settled();
    servers_.rethrow_failure();
  }
  void cancel() noexcept { servers_.cancel(); }

  [[nodiscard]] color color_of(std::size_t party) const noexcept {
    return color{plan_.parties.colors ? static_cast<std::uint32_t>(party + 1) : 0};
  }
  address front;

 private:
  task<> add(layer below, bool http2, std::function<http::handler()> make,
             std::vector<restart> restarts) {
    const std::size_t number = parties_.size();
    parties_.push_back(std::make_unique<server_party>(plan_, below, http2));
    rendezvous<> began;
    servers_.spawn(color_of(number),
                   server_party::serve(*parties_.back(), std::move(make), std::move(restarts),
                                       began.make_event(front)));
    co_await began;
  }

  const record_book& all_;
  const run_plan& plan_;
  std::vector<std::unique_ptr<server_party>> parties_;
  scope servers_;
};

/// Plays the whole script.
inline task<> play(const record_book& all, const run_plan& plan) {
  stage on(all, plan);
  std::exception_ptr failed;
  try {
    co_await on.begin();
    scope visitors;
    std::size_t party = 4;
    for (const visit_plan& v : plan.plays)
      visitors.spawn(on.color_of(party++), visit(all.exchanges, plan, v, on.front));
    for (const auto& t : all.talks)
      visitors.spawn(on.color_of(party++), visit_talk(*t, plan, on.front));
    co_await visitors.settled();
    visitors.rethrow_failure();
  } catch (...) {
    failed = std::current_exception();
  }
  co_await on.end();
  if (failed) std::rethrow_exception(failed);
}

/// What one run has shown; totals of several are added up.
struct totals {
  std::size_t right = 0, other = 0, told = 0, chosen = 0, calm = 0, messages = 0;
  std::uint64_t trace = 0;  // of the last run
};

/// The script of a run that failed, with what became of each exchange.
inline void print_script(const run_plan& plan, const record_book& book) {
  const ledger& all = book.exchanges;
  for (const auto& t : book.talks) std::fprintf(stderr, "  %s\n", t->text().c_str());
  const char* const endings[] = {"not begun", "right", "other", "told", "chosen"};
  std::fprintf(stderr, "The script, %s:\n", plan.calm ? "in a calm world" : "in a rough world");
  for (const visit_plan& v : plan.plays) {
    std::fprintf(stderr, "  a visitor%s\n", v.by_hand ? " by hand" : "");
    for (const exchange_plan& p : v.exchanges) {
      const seen& s = all.of(p);
      std::fprintf(stderr, "    %s -> %s, status %d, %zu bytes, handled %d, completed %d %s\n",
                   text_of(p).c_str(), endings[static_cast<int>(s.how)], s.status, s.bytes,
                   s.handled.load(), s.completed.load(), s.why.c_str());
    }
  }
}

/// One run in a simulated world; `look` sees what it has shown.
inline void run_simulated(const run_plan& plan, totals& sum,
                          const std::function<void(const ledger&)>& look = {}) {
  const record_book book(plan);
  const ledger& all = book.exchanges;
  auto made = std::make_unique<sim_driver>(plan.world);
  sim_driver& world = *made;
  runtime rt(std::move(made), one_worker());
  const auto ended = rt.run([](const record_book& of, const run_plan& p) -> task<bool> {
    const auto done = co_await as_expected(with_timeout(play(of, p), std::chrono::hours(5)));
    if (!done) ADD_FAILURE() << "the script hangs: " << done.error().message();
    co_return done.has_value();
  }(book, plan));
  static_cast<void>(ended);
  if (std::getenv("HEDDLE_TRACE") != nullptr) std::fputs(world.trace_text().c_str(), stderr);
  EXPECT_EQ(rt.drain(), 0u);
  EXPECT_EQ(world.open_descriptors(), 0u);
  EXPECT_EQ(world.blocks_out(), 0u);
  all.judge(plan.calm, plan.parties.proxied ? 8 : 2);
  for (const auto& t : book.talks) {
    t->judge(plan.calm);
    for (const side_seen& side : t->seen)
      for (const int n : side.got) sum.messages += static_cast<std::size_t>(n);
  }
  if (look) look(all);
  if (::testing::Test::HasFailure()) print_script(plan, book);
  sum.right += all.count(ending::right);
  sum.other += all.count(ending::other);
  sum.told += all.count(ending::told);
  sum.chosen += all.count(ending::chosen);
  sum.calm += plan.calm ? 1 : 0;
  sum.trace = world.trace_hash();
}

/// One run with threads, over the kernel's loopback interface: each party in a color of its own.
/// The script must end within a minute of real time; a dump says where it hangs.
inline void run_threaded(const run_plan& plan, std::size_t workers, totals& sum) {
  const record_book book(plan);
  const hang_watch watch(plan.seed, 60);
  runtime_options options;
  options.workers = workers;
  runtime rt(options);
  rt.run(play(book, plan));
  EXPECT_EQ(rt.drain(), 0u);
  book.exchanges.judge(plan.calm, plan.parties.proxied ? 8 : 2);
  for (const auto& t : book.talks) t->judge(plan.calm);
  if (::testing::Test::HasFailure()) print_script(plan, book);
  sum.right += book.exchanges.count(ending::right);
  sum.told += book.exchanges.count(ending::told);
}

/// One seed with these parties; one of 20 is run twice, and must be the same run.
inline void run_seed(std::uint64_t seed, const cast& parties, totals& sum) {
  draws d(seed);
  const kinds on(d);
  const run_plan plan(seed, parties, {}, d, on);
  run_simulated(plan, sum);
  // With TLS the kernel's random numbers are in the bytes.
  if (seed % 20 != 0 || is_secure(parties.below) || is_secure(parties.upstream)) return;
  const std::uint64_t trace = sum.trace;
  totals again;
  run_simulated(plan, again);
  EXPECT_EQ(again.trace, trace) << "the same seed gave another run";
}

/// Checks, over many seeds, that the scripts did what they are for.
inline void expect_enough(const sim::seeds_outcome& all, const totals& sum) {
  if (!judges_totals(all, 100)) return;
  EXPECT_GT(sum.right, all.ran * 2);
  EXPECT_GT(sum.told, all.ran / 10);
  EXPECT_GT(sum.chosen, all.ran / 10);
  EXPECT_GT(sum.calm, all.ran / 40);
}

}  // namespace heddle::test::roles

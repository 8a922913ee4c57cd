// SPDX-License-Identifier: MIT
// A server that is asked for as much as one likes. Time is the simulation's: a handler takes time
// by moving the clock, and requests arrive as their links carry them, whatever the server does
// meanwhile.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "web/harness.hh"

namespace heddle::test {

inline constexpr std::size_t request_bytes_mean = 1000;

/// Many clients that ask without waiting for answers.
struct crowd {
  double rate = 1000;                          // requests a second, of all together
  nanoseconds span = std::chrono::seconds(1);  // how long they ask
  std::size_t connections = 100;
  std::size_t greedy = 0;  // so many of the connections ask ten times as often
  std::uint64_t seed = 1;
};

/// One request that was begun.
struct begun {
  time_point at;
  nanoseconds waited;    // from its arrival
  nanoseconds measured;  // what the server thinks
};

/// What happened to a crowd.
struct outcome {
  std::vector<begun> all;
  std::vector<std::size_t> answers;  // of 200, by connection
  std::size_t shed = 0;
  std::size_t unanswered = 0;
  http::server_counters counters;
  time_point start;

  [[nodiscard]] double mean_waited() const {
    double sum = 0;
    for (const begun& b : all) sum += static_cast<double>(b.waited.count());
    return sum / static_cast<double>(all.size());
  }
  [[nodiscard]] double mean_measured() const {
    double sum = 0;
    for (const begun& b : all) sum += static_cast<double>(b.measured.count());
    return sum / static_cast<double>(all.size());
  }
  /// Requests begun a second, between two times after the start.
  [[nodiscard]] double rate(nanoseconds from, nanoseconds to) const {
    const auto n = std::count_if(all.begin(), all.end(), [&](const begun& b) {
      return b.at >= start + from && b.at < start + to;
    });
    return static_cast<double>(n) / std::chrono::duration<double>(to - from).count();
  }
  /// What this share of the requests waited at most, of those begun after `from`.
  [[nodiscard]] nanoseconds waited(double share, nanoseconds from) const {
    std::vector<nanoseconds> waits;
    for (const begun& b : all)
      if (b.at >= start + from) waits.push_back(b.waited);
    std::sort(waits.begin(), waits.end());
    return waits.at(static_cast<std::size_t>(share * static_cast<double>(waits.size() - 1)));
  }
};

/// A target that a short simulation reaches.
inline http::server_options impatient() {
  http::server_options options;
  options.overload.target = std::chrono::milliseconds(10);
  return options;
}

/// A server in a world of its own, and a crowd that asks it.
class play {
 public:
  play(crowd who, nanoseconds cost, http::server_options options = impatient())
      : who_(who), cost_(cost), options_(std::move(options)), chance_(who.seed) {
    sim_options world;
    world.socket_buffer_bytes = 256u << 20;
    world.backlog_max = 4096;
    world.limits.block_count = 8192;
    world.seed = who.seed;
    auto driver = std::make_unique<sim_driver>(std::move(world));
    sim_ = driver.get();
    rt_.emplace(std::move(driver));
  }

  /// `beside` runs once the server has begun to refuse.
  using companion = std::function<task<>(address, http::server&)>;

  outcome run(companion beside = {}) {
    beside_ = std::move(beside);
    arrivals_.resize(who_.connections);
    out_.answers.resize(who_.connections);
    rt_->run(with_server([this](http::request& r) { return answer(r); }, std::move(options_),
                         [this](address at, http::server& web) { return ask_all(at, web); }));
    return std::move(out_);
  }

 private:
  /// "/12/34" is the 34th request of the 12th connection.
  task<http::response> answer(http::request& r) {
    const std::string path(r.path());
    if (path.find('/', 1) == path.npos) co_return http::response(200).text("companion\n");
    const std::size_t who = std::stoul(path.substr(1));
    const std::size_t number = std::stoul(path.substr(path.rfind('/') + 1));
    const time_point now = rt_->read_clock();
    const std::uint64_t delays = web_->counters().queue_delay_ns.sum();
    out_.all.push_back({now, now - arrivals_[who][number],
                        nanoseconds(static_cast<std::int64_t>(delays - delays_seen_))});
    delays_seen_ = delays;
    ++out_.answers[who];
    sim_->advance(cost_);
    co_return http::response(200).text("done\n");
  }

  /// Sends what one client asks, all of it now: its link brings it bit by bit.
  task<> ask(stream conn, std::size_t who, double bytes_per_s, time_point end) {
    std::uniform_int_distribution<std::size_t> size(request_bytes_mean / 5,
                                                    request_bytes_mean * 9 / 5);
    time_point free = clock::now();
    while (free < end) {
      std::string text = "GET /" + std::to_string(who) + '/' +
                         std::to_string(arrivals_[who].size()) + " HTTP/1.1\r\nHost: x\r\nX: ";
      text.resize(std::max(size(chance_), text.size() + 4), '.');
      text.replace(text.size() - 4, 4, "\r\n\r\n");
      free = std::max(free, rt_->read_clock()) +
             nanoseconds(
                 static_cast<std::int64_t>(static_cast<double>(text.size()) * 1e9 / bytes_per_s));
      arrivals_[who].push_back(free + sim_link{}.latency);
      const auto sent = co_await as_expected(conn.write(std::move(text)));
      if (!sent) break;  // closed, by a server that may
    }
    const std::size_t asked = arrivals_[who].size();
    std::size_t ok = 0;
    std::size_t refused = 0;
    std::string in;
    while (ok + refused < asked) {
      auto part = co_await as_expected(with_timeout(conn.receive(), std::chrono::seconds(60)));
      if (!part || part->empty()) break;
      in += part->text();
      const std::size_t whole = in.rfind("\r\n\r\n");
      if (whole == in.npos) continue;
      ok += count_of(in.substr(0, whole), "HTTP/1.1 200 ");
      refused += count_of(in.substr(0, whole), "HTTP/1.1 503 ");
      in.erase(0, whole);
    }
    out_.shed += refused;
    out_.unanswered += asked - ok - refused;
  }

  task<> ask_all(address at, http::server& web) {
    web_ = &web;
    const std::size_t shares = who_.connections + 9 * who_.greedy;
    std::vector<stream> conns;
    std::vector<double> speeds;
    for (std::size_t i = 0; i < who_.connections; ++i) {
      const double share = i < who_.greedy ? 10 : 1;
      speeds.push_back(std::floor(share * who_.rate / static_cast<double>(shares) *
                                  static_cast<double>(request_bytes_mean)));
      sim_->set_link(at.native(), at.native_len(),
                     {sim_link{}.latency, nanoseconds(0), static_cast<std::uint64_t>(speeds[i])});
      conns.push_back(co_await connect_to(at));
    }
    sim_->set_link(at.native(), at.native_len(), {});  // of a companion
    out_.start = rt_->read_clock();
    scope clients;
    for (std::size_t i = 0; i < conns.size(); ++i)
      clients.spawn(ask(std::move(conns[i]), i, speeds[i], out_.start + who_.span));
    if (beside_) {
      while (web.counters().overloads == 0 && clock::now() < out_.start + who_.span)
        co_await sleep_for(std::chrono::milliseconds(10));
      EXPECT_EQ(web.counters().overloads, 1u);
      if (web.counters().overloads != 0) co_await beside_(at, web);
    }
    co_await clients.join();
    out_.counters = web.counters();
  }

  crowd who_;
  nanoseconds cost_;
  http::server_options options_;
  std::mt19937_64 chance_;
  sim_driver* sim_ = nullptr;
  std::optional<runtime> rt_;
  http::server* web_ = nullptr;
  companion beside_;
  std::uint64_t delays_seen_ = 0;
  std::vector<std::vector<time_point>> arrivals_;
  outcome out_;
};

}  // namespace heddle::test

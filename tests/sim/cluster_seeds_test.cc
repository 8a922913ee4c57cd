// SPDX-License-Identifier: MIT
// Random clusters: some nodes echo and ask each other, while links are cut, processes pause and
// die, and clocks differ. What comes back is what was sent; once all is healed each node answers
// again; one seed is one run; and every process that ends gives its memory back.
#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/file.hh"
#include "nodes.hh"
#include "support/draws.hh"
#include "support/seeds.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

constexpr nanoseconds trouble_ends = 20s;

/// What a whole run did, and how much of it.
struct cluster_totals {
  std::uint64_t answers = 0, cut_answers = 0, failed_asks = 0, kills = 0;
  std::uint64_t hash = 0;
};

class random_cluster {
 public:
  explicit random_cluster(std::uint64_t seed) : draw_(seed), all_(options(seed)) {
    count_ = draw_.from(2, 5);
    for (std::uint64_t i = 0; i != count_; ++i) {
      sim::node_options options{
          .name = "n" + std::to_string(i),
          .program = [this](sim::node& n) { return live(n); },
          .service = true,
          .clock_offset = draw_.span(1h),
          .clock_rate = 1 + static_cast<double>(draw_.below(2000)) * 1e-6,
      };
      options.runtime.report = [](const diagnostic& d) { ADD_FAILURE() << to_string(d); };
      all_.add(std::move(options));
    }
    all_.add({.name = "judge", .program = [this](sim::node&) { return judge(); }});
    for (std::uint64_t left = draw_.below(12); left != 0; --left)
      all_.at(draw_.span(trouble_ends), [this, what = draw_.below(8)] { trouble(what); });
    all_.at(trouble_ends, [this] {
      all_.heal();
      for (const auto& n : all_.nodes()) all_.restart(*n);
    });
  }

  cluster_totals run() {
    const sim::outcome end = all_.run(10min);
    EXPECT_TRUE(end) << end.why << all_.trace_text();
    totals_.hash = all_.trace_hash();
    return totals_;
  }

 private:
  static sim::cluster_options options(std::uint64_t seed) {
    draws draw(seed, 1);
    sim_options world{.seed = seed, .trace_lines_max = 512};
    world.link.latency = draw.span(20ms);
    world.link.jitter = draw.span(20ms);
    if (draw.one_of(2))
      world.faults = {
          .short_transfer = 0.1, .interrupted = 0.05, .no_memory = 0.002, .delayed = 0.01};
    return {.world = std::move(world)};
  }

  sim::node& any() { return *all_.nodes()[draw_.below(count_)]; }

  void trouble(std::uint64_t what) {
    sim::node& one = any();
    sim::node& other = any();
    switch (what) {
      case 0:
        return all_.partition(one, other);
      case 1:
        return all_.heal(one, other);
      case 2:
      case 3: {
        ++totals_.kills;
        all_.kill(one, draw_.one_of(2) ? sim::death::power : sim::death::process);
        if (draw_.one_of(2)) all_.restart(one);
        return;
      }
      case 4:
        return all_.restart(one);
      case 5:
        return all_.pause(one, draw_.span(5s));
      case 6:
        return all_.jump_clock(one, draw_.span(2h) - 1h);
      default:
        return all_.set_link(one, other, {.latency = draw_.span(100ms)});
    }
  }

  /// Serves, and asks others and its disk in between.
  task<int> live(sim::node& n) {
    runtime::here().spawn(serve(n));
    for (;;) {
      const nanoseconds pause = nanoseconds(runtime::here().io().random() % 500'000'000);
      co_await sleep_for(pause);
      const std::uint64_t drawn = runtime::here().io().random();
      co_await ask("n" + std::to_string(drawn % count_), std::to_string(drawn));
      static_cast<void>(co_await as_expected(write_file("/tmp/last", std::to_string(drawn))));
    }
  }
  static task<> serve(sim::node& n) {
    for (;;) {
      static_cast<void>(co_await as_expected(echo_service(n)));
      co_await sleep_for(10ms);  // a fault of accept or listen
    }
  }
  task<bool> ask(std::string host, std::string text) {
    const auto got = co_await as_expected(with_timeout(echo(host, text), 2s));
    if (!got) {
      ++totals_.failed_asks;
      co_return false;
    }
    EXPECT_EQ(*got, text.substr(0, got->size())) << "another text came back";
    ++(got->size() == text.size() ? totals_.answers : totals_.cut_answers);
    co_return got->size() == text.size();
  }
  /// Waits for the end of the trouble, and asks every node until it answers.
  task<int> judge() {
    co_await sleep_for(trouble_ends + 10s);
    for (std::uint64_t i = 0; i != count_; ++i) {
      int tries = 0;
      for (;;) {
        const bool answered = co_await ask("n" + std::to_string(i), "judge");
        if (answered) break;
        if (++tries == 20) {
          ADD_FAILURE() << "n" << i << " does not answer after healing";
          break;
        }
        co_await sleep_for(500ms);
      }
    }
    co_return 0;
  }

  draws draw_;
  std::uint64_t count_ = 0;
  cluster_totals totals_;
  sim::cluster all_;
};

HEDDLE_TEST(cluster_seeds, "clusters answer again after all trouble, and one seed is one run") {
  cluster_totals sum;
  std::vector<std::unique_ptr<char[]>> other_layout;
  const sim::seeds_outcome all = for_seeds(400, [&](std::uint64_t seed) {
    const cluster_totals first = std::make_unique<random_cluster>(seed)->run();
    other_layout.push_back(std::make_unique<char[]>(1 + seed % 5000));
    const cluster_totals second = std::make_unique<random_cluster>(seed)->run();
    EXPECT_EQ(first.hash, second.hash) << "two runs of one seed differ";
    sum.answers += first.answers;
    sum.cut_answers += first.cut_answers;
    sum.failed_asks += first.failed_asks;
    sum.kills += first.kills;
    if (other_layout.size() > 100) other_layout.clear();
  });
  if (judges_totals(all, 50)) {
    EXPECT_GT(sum.answers, 1000U);
    EXPECT_GT(sum.cut_answers, 0U);
    EXPECT_GT(sum.failed_asks, 50U);
    EXPECT_GT(sum.kills, 20U);
  }
}

}  // namespace
}  // namespace heddle::test

// SPDX-License-Identifier: MIT
// Random clusters: some nodes echo and ask each other, while links are cut, processes pause and
// die, and clocks differ. What comes back is what was sent; once all is healed each node answers
// again; one seed is one run; and every process that ends gives its memory back.
#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/file.hh"
#include "heddle/sim/runs.hh"
#include "nodes.hh"
#include "support/draws.hh"
#include "support/seeds.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

constexpr nanoseconds trouble_ends = 20s;

/// What the runs did, and how much of it.
struct cluster_totals {
  std::uint64_t answers = 0, cut_answers = 0, failed_asks = 0, kills = 0;
};

class random_cluster {
 public:
  random_cluster(const sim::cluster_options& drawn, cluster_totals& totals)
      : draw_(drawn.world.seed), totals_(totals), all_(with_links(drawn)) {
    count_ = all_.size("nodes", draw_.from(2, 5));
    for (std::uint64_t i = 0; i != count_; ++i) {
      sim::node_options options{
          .name = "n" + std::to_string(i),
          .program = [this](sim::node& n) { return live(n); },
          .service = true,
          .clock_offset = draw_.span(1h),
          .clock_rate = 1 + static_cast<double>(draw_.below(2000)) * 1e-6,
      };
      options.runtime.report = [this](const diagnostic& d) { wrong("reported: " + to_string(d)); };
      all_.add(std::move(options));
    }
    all_.add({.name = "judge", .program = [this](sim::node&) { return judge(); }, .spared = true});
  }

  /// Gives what is wrong, or "".
  std::string run() {
    const sim::outcome end = all_.run(10min);
    for (const sim::trouble& t : all_.record().troubles)
      totals_.kills += t.kind == sim::trouble_kind::kill ? 1 : 0;
    if (!end) wrong(std::string("ends: ") + word(end) + '\n' + end.why);
    return wrong_;
  }

 private:
  static sim::cluster_options with_links(sim::cluster_options options) {
    draws draw(options.world.seed, 1);
    options.world.link = {.latency = draw.span(20ms), .jitter = draw.span(20ms)};
    if (draw.one_of(2))
      options.world.faults = {
          .short_transfer = 0.1, .interrupted = 0.05, .no_memory = 0.002, .delayed = 0.01};
    return options;
  }

  void wrong(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
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
    const auto got = co_await as_expected(with_timeout(echo(host, text, 5), 4s));
    if (!got) {
      ++totals_.failed_asks;
      co_return false;
    }
    if (*got != text.substr(0, got->size())) wrong("changed: another text came back");
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
          wrong("silent: a node does not answer after healing\nn" + std::to_string(i));
          break;
        }
        co_await sleep_for(500ms);
      }
    }
    co_return 0;
  }

  draws draw_;
  std::uint64_t count_ = 0;
  cluster_totals& totals_;
  std::string wrong_;
  sim::cluster all_;
};

HEDDLE_TEST(cluster_seeds, "clusters answer again after all trouble, and one seed is one run") {
  cluster_totals sum;
  const sim::runs_outcome all =
      sim::for_runs({.name = "clusters",
                     .seeds = {.count = 400 / seeds_slower},
                     .cluster = {.trouble = {.count_max = 12, .until = trouble_ends}},
                     .repeat_one_in = 1},
                    [&](const sim::cluster_options& drawn) -> std::string {
                      random_cluster all_nodes(drawn, sum);
                      return all_nodes.run();
                    });
  EXPECT_TRUE(all) << all.failed;
  if (judges_totals({.ran = all.ran}, 50)) {
    EXPECT_GT(sum.answers, 1000U);
    EXPECT_GT(sum.cut_answers, 0U);
    EXPECT_GT(sum.failed_asks, 50U);
    EXPECT_GT(sum.kills, 20U);
  }
}

}  // namespace
}  // namespace heddle::test

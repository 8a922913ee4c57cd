// SPDX-License-Identifier: MIT
// Overload: what waiting is measured, when requests are refused, and whose.
#include "heddle/web/overload.hh"

#include "web/crowd.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

/// Measures, and never refuses.
http::server_options patient() {
  http::server_options options;
  options.overload.target = options.overload.target_max = 1h;
  return options;
}

}  // namespace

HEDDLE_TEST(overload, "the delay that is measured follows the one that requests had") {
  for (const double load : {0.5, 0.8, 1.0, 1.2, 1.5}) {
    double waited = 0;
    double measured = 0;
    // A probe sees few of the waits, so where they differ much (at full load) the mean of one crowd
    // is off by up to a factor of four either way, and that of eight by less than two.
    constexpr int crowds = 8;
    for (std::uint64_t seed = 1; seed <= crowds; ++seed) {
      const crowd who{.rate = load * 5000, .span = 500ms, .connections = 1500, .seed = seed};
      const outcome o = play(who, 200us, patient()).run();
      waited += o.mean_waited() / 1e3 / crowds;
      measured += o.mean_measured() / 1e3 / crowds;
      EXPECT_EQ(o.shed + o.unanswered, 0u);
    }
    EXPECT_GE(measured, 0.5 * waited - 200) << "at load " << load;
    EXPECT_LE(measured, 2 * waited + 200) << "at load " << load;
    if (load > 1.1) {
      EXPECT_GT(waited, 30'000);
    }
  }
}

HEDDLE_TEST(overload, "nothing is refused at 80 % load, whatever a request costs") {
  for (const nanoseconds cost : {nanoseconds(50us), nanoseconds(200us), nanoseconds(5ms)}) {
    const double full = 1e9 / static_cast<double>((cost + 10us).count());
    for (const std::uint64_t seed : {1, 2, 3}) {
      crowd who{.rate = 0.8 * full, .connections = 400, .seed = seed};
      who.span = nanoseconds(static_cast<std::int64_t>(4000 / full * 1e9));
      const outcome o = play(who, cost).run();
      EXPECT_EQ(o.shed, 0u) << cost.count() << " ns, seed " << seed;
      EXPECT_EQ(o.counters.overloads, 0u);
      EXPECT_GT(o.all.size(), 2500u);
    }
  }
}

HEDDLE_TEST(overload, "past saturation work goes on at the full rate, and is begun in time") {
  crowd who{.rate = 15000, .span = 300ms, .connections = 1000};
  const double peak = play(who, 200us, patient()).run().rate(50ms, 300ms);
  for (const double load : {1.5, 2.0, 3.0}) {
    who.rate = load * 5000;
    who.span = 1200ms;
    const outcome o = play(who, 200us).run();
    EXPECT_GE(o.rate(450ms, 1200ms), 0.95 * peak) << "at load " << load;
    EXPECT_LE(o.waited(0.9, 450ms), 15ms) << "at load " << load;
    EXPECT_LE(o.waited(0.99, 450ms), 30ms) << "at load " << load;  // this world keeps no order
    EXPECT_EQ(o.counters.overloads, 1u);
    EXPECT_EQ(o.counters.shed, o.shed);
    EXPECT_EQ(o.counters.errors, 0u);
    EXPECT_EQ(o.unanswered, 0u);
  }
}

HEDDLE_TEST(overload, "a burst that drains is answered whole") {
  const crowd who{.rate = 20000, .span = 5ms, .connections = 300};
  const outcome o = play(who, 200us).run();
  EXPECT_GT(o.waited(1, 0s), 20ms);
  EXPECT_EQ(o.shed, 0u);
}

HEDDLE_TEST(overload, "a target of zero turns it off") {
  http::server_options options;
  options.overload.target = 0ns;
  const outcome o = play({.rate = 15000, .span = 500ms, .connections = 500}, 200us, options).run();
  EXPECT_EQ(o.shed, 0u);
  EXPECT_EQ(o.counters.queue_delay_ns.count(), 0u);
  EXPECT_GT(o.waited(1, 0s), 200ms);
}

HEDDLE_TEST(overload, "no connection starves, and a greedy one gets no more of what it asks") {
  const crowd who{.rate = 20000, .span = 2s, .connections = 200, .greedy = 5};
  const outcome o = play(who, 200us).run();
  std::vector<std::size_t> modest(o.answers.begin() + 5, o.answers.end());
  std::sort(modest.begin(), modest.end());
  const std::size_t median = modest[modest.size() / 2];
  EXPECT_GE(modest.front(), median / 2);
  EXPECT_LE(o.answers.front(), 12 * median);  // it asks ten times as often
}

namespace {

/// A control that sees turns of `len` requests, in the same order in each; every one that is begun
/// takes 200 us. Gives how often each was begun.
std::vector<int> in_fixed_order(std::size_t len, int turns) {
  http::overload_control control({});
  std::vector<http::overload_control::credit> credits(len);
  std::vector<int> done(len);
  time_point now{1h};
  bool marked = false;
  for (int t = 0; t < turns; ++t) {
    const time_point turn = now;
    for (std::size_t i = 0; i < len; ++i) {
      if (control.admit(turn, credits[i])) {
        ++done[i];
        now += 200us;
      }
      if (control.meter().wants_mark()) {
        control.meter().mark_queued();
        marked = true;
      }
      now += 2us;
      control.meter().note_time(now);
    }
    now += 5us;
    if (std::exchange(marked, false)) {
      control.meter().mark_ran();
      control.meter().mark_ended(now);
    }
  }
  return done;
}

}  // namespace

HEDDLE_TEST(overload, "a connection that is always the last in its turn is begun too") {
  const std::vector<int> done = in_fixed_order(100, 4000);
  int sum = 0;
  for (const int n : done) sum += n;
  EXPECT_GE(*std::min_element(done.begin(), done.end()), sum / 100 / 3) << "of 4000";
  EXPECT_GT(sum, 20'000);
}

// SPDX-License-Identifier: MIT
// for_runs: scenarios with planted faults are found, made small, written and replayed.
#include "heddle/sim/runs.hh"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/directory.hh"
#include "heddle/io/file.hh"
#include "nodes.hh"
#include "support/environment.hh"
#include "support/made_folder.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t counter_port = 9;

/// What a counter does wrong.
enum class planted { nothing, answers_before_sync, forgets_the_folder };

/// Reads the number on the disk, 0 if there is none.
task<std::uint64_t> stored() {
  const auto text = co_await as_expected(read_file("/tmp/count"));
  co_return text && !text->empty() ? std::strtoull(text->c_str(), nullptr, 10) : 0;
}

task<> store(std::uint64_t value, planted fault) {
  const std::string text = std::to_string(value);
  if (fault == planted::nothing) {
    co_await write_file("/tmp/count", std::string_view(text));
    co_return;
  }
  const file f = co_await open_file("/tmp/new", {.write = true, .create = true, .truncate = true});
  co_await f.write_at(0, std::string_view(text));
  if (fault == planted::forgets_the_folder) co_await f.sync();
  co_await rename_file("/tmp/new", "/tmp/count");
}

/// Adds one for each byte that it gets, stores the sum, and answers with it.
task<int> counter(planted fault) {
  std::uint64_t value = co_await stored();
  const tcp_listener door = tcp_listener::listen(address::any_v4(counter_port));
  for (;;) {
    const auto caller = co_await as_expected(door.accept());
    if (!caller && caller.error() == std::errc::operation_canceled) co_return 0;
    if (!caller) continue;
    char byte = 0;
    const auto got = co_await as_expected(caller->read(byte_span(&byte, 1)));
    if (!got || *got == 0) continue;
    const auto kept = co_await as_expected(store(value + 1, fault));
    if (!kept) continue;
    const std::string answer = std::to_string(++value) + "\n";
    static_cast<void>(co_await as_expected(caller->write(std::string_view(answer))));
  }
}

task<std::uint64_t> add_one() {
  const tcp_stream conn = co_await tcp_connect("counter", counter_port);
  co_await conn.write("+");
  char answer[32];
  const std::size_t count = co_await conn.read(answer);
  co_return std::strtoull(std::string(answer, count).c_str(), nullptr, 10);
}

/// Several clients count; what was answered once is never forgotten.
std::string counting(const sim::cluster_options& drawn, planted fault) {
  std::uint64_t highest = 0;
  std::string wrong;
  sim::cluster all(drawn);
  all.add({.name = "counter",
           .program = [fault](sim::node&) { return counter(fault); },
           .service = true});
  const std::uint64_t clients = all.size("clients", 4);
  const std::uint64_t requests = all.size("requests", 10);
  for (std::uint64_t i = 0; i != clients; ++i)
    all.add({.name = "user" + std::to_string(i),
             .program = [&highest, &wrong, requests](sim::node&) -> task<int> {
               for (std::uint64_t k = 0; k != requests; ++k) {
                 const std::uint64_t before = highest;
                 const auto got = co_await as_expected(with_timeout(add_one(), 1s));
                 if (got && *got != 0) {
                   if (*got <= before && wrong.empty())
                     wrong = "forgotten: an answered count\n" + std::to_string(*got) + " after " +
                             std::to_string(before);
                   highest = std::max(highest, *got);
                 }
                 co_await sleep_for(500ms);
               }
               co_return 0;
             },
             .spared = true});
  const sim::outcome end = all.run(5min);
  if (!wrong.empty()) return wrong;
  return end ? "" : std::string("ends: ") + word(end) + '\n' + end.why;
}

sim::runs_options options_for(const char* name, const std::string& folder) {
  return {.name = name,
          .seeds = {.count = 2000, .command = "again"},
          .cluster = {.world = {.link = {.latency = 1ms, .jitter = 1ms},
                                .faults = {.short_transfer = 0.05, .interrupted = 0.02}},
                      .trouble = {.count_max = 12}},
          .folder = folder};
}

struct replayed {
  sim::runs_outcome outcome;
  std::string said;
};

replayed replay(const std::string& file, const sim::runs_options& options,
                const sim::scenario& body) {
  const environment run("HEDDLE_RUN", file.c_str());
  ::testing::internal::CaptureStderr();
  replayed r{sim::for_runs(options, body), ""};
  r.said = ::testing::internal::GetCapturedStderr();
  return r;
}

HEDDLE_TEST(runs, "planted faults are found, made small, and replayed from their file") {
  const environment none("HEDDLE_SEED", nullptr), no_time("HEDDLE_HUNT_S", nullptr);
  for (const planted fault : {planted::answers_before_sync, planted::forgets_the_folder}) {
    const made_folder folder;
    const sim::runs_options options = options_for("counting", folder.path);
    const sim::scenario body = [fault](const sim::cluster_options& all) {
      return counting(all, fault);
    };
    ::testing::internal::CaptureStderr();
    const sim::runs_outcome found = sim::for_runs(options, body);
    const std::string said = ::testing::internal::GetCapturedStderr();
    ASSERT_FALSE(found) << "no seed of 2000 found it";
    EXPECT_EQ(found.failed.substr(0, found.failed.find('\n')), "forgotten: an answered count");
    EXPECT_LE(found.smallest.troubles.size() + found.smallest.faults.size(), 3U)
        << to_text(found.smallest);
    EXPECT_LE(found.smallest.sizes.at("clients"), 2U) << to_text(found.smallest);
    EXPECT_NE(said.find("replay: HEDDLE_RUN=" + found.file + " again"), std::string::npos) << said;

    const replayed again = replay(found.file, options, body);
    EXPECT_FALSE(again.outcome);
    EXPECT_NE(again.said.find("fails as it did: forgotten: an answered count"), std::string::npos)
        << again.said;
    EXPECT_NE(again.said.find("it is the same run"), std::string::npos) << again.said;

    const replayed mended = replay(found.file, options, [](const sim::cluster_options& all) {
      return counting(all, planted::nothing);
    });
    EXPECT_TRUE(mended.outcome);
    EXPECT_NE(mended.said.find("does not fail; it was: forgotten"), std::string::npos);
    EXPECT_NE(mended.said.find("it runs differently: first difference at record "),
              std::string::npos)
        << mended.said;
  }
}

HEDDLE_TEST(runs, "a scenario without fault passes all its seeds") {
  const environment none("HEDDLE_SEED", nullptr), no_time("HEDDLE_HUNT_S", nullptr);
  const made_folder folder;
  sim::runs_options options = options_for("sound", folder.path);
  options.seeds.count = 100;
  const sim::runs_outcome all = sim::for_runs(
      options, [](const sim::cluster_options& world) { return counting(world, planted::nothing); });
  EXPECT_TRUE(all) << all.failed;
  EXPECT_EQ(all.ran, 100U);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

HEDDLE_TEST(runs, "a file that cannot be replayed is refused with the reason") {
  const made_folder folder;
  const sim::runs_options options = options_for("counting", folder.path);
  const sim::scenario body = [](const sim::cluster_options& all) {
    return counting(all, planted::nothing);
  };
  const std::string path = folder.path + "/x.run";
  const auto refused = [&](const std::string& text, const char* part) {
    std::ofstream(path) << text;
    const replayed r = replay(path, options, body);
    EXPECT_EQ(r.outcome.ran, 0U);
    EXPECT_NE(r.said.find(part), std::string::npos) << r.said;
  };
  const replayed missing = replay(folder.path + "/none.run", options, body);
  EXPECT_NE(missing.said.find("cannot read"), std::string::npos);
  refused("heddle-run 1\nat x\n", "line 2");
  refused("heddle-run 1\nprogram = \"bank\"\n", "is of bank, and this is counting");
  refused("heddle-run 1\nprogram = \"counting\"\nbuild = \"00\"\n", "HEDDLE_RUN_ANYWAY=1");
  const environment anyway("HEDDLE_RUN_ANYWAY", "1");
  EXPECT_TRUE(replay(path, options, body).outcome);
}

HEDDLE_TEST(runs, "verdicts of odd forms are kept and compared") {
  const environment none("HEDDLE_SEED", nullptr), no_time("HEDDLE_HUNT_S", nullptr);
  for (const char* verdict : {"\nsecond line", "lost\r\nmore", "\n", "\"quoted\" \\"}) {
    const made_folder folder;
    const sim::runs_options options{.name = "odd", .folder = folder.path + "/it's new"};
    const sim::scenario body = [verdict](const sim::cluster_options& drawn) -> std::string {
      sim::cluster all(drawn);
      all.add({.name = "one", .program = [](sim::node&) -> task<int> { co_return 0; }});
      return all.run(1min) ? verdict : "ends";
    };
    ::testing::internal::CaptureStderr();
    const sim::runs_outcome found = sim::for_runs(options, body);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_FALSE(found);
    EXPECT_NE(said.find("replay: HEDDLE_RUN='" + folder.path + "/it'\\''s new/odd-1.run' "),
              std::string::npos)
        << said;
    const replayed again = replay(found.file, options, body);
    EXPECT_NE(again.said.find("fails as it did: "), std::string::npos) << again.said;
  }
}

HEDDLE_TEST(runs, "names of files are checked, and lines about unknown nodes are reported") {
  const made_folder folder;
  const sim::scenario body = [](const sim::cluster_options& drawn) {
    return counting(drawn, planted::nothing);
  };
  for (const char* name : {"", "../x", "a/b", "a b"})
    EXPECT_THROW(sim::for_runs({.name = name, .folder = folder.path}, body), failure) << name;
  const sim::runs_options options = options_for("counting", folder.path);
  const std::string path = folder.path + "/x.run";
  std::ofstream(path) << "heddle-run 1\nprogram = \"counting\"\nbuild = \"" << sim::build_id()
                      << "\"\nat 1 kill ghost process\nop spirit#2 send 1 reset\n";
  const replayed r = replay(path, options, body);
  EXPECT_NE(r.said.find("there is no node ghost"), std::string::npos) << r.said;
  EXPECT_NE(r.said.find("there is no node spirit"), std::string::npos) << r.said;
  EXPECT_NE(replay(folder.path, options, body).said.find("cannot read"), std::string::npos);
}

/// A scenario whose program sleeps longer in each run, with always the same verdict.
sim::scenario sleeping_longer(int& runs, std::string verdict) {
  return [&runs, verdict](const sim::cluster_options& drawn) {
    sim::cluster all(drawn);
    all.add({.name = "one", .program = [&runs](sim::node&) -> task<int> {
               co_await sleep_for(++runs * 1ms);
               co_return 0;
             }});
    static_cast<void>(all.run(1min));
    return verdict;
  };
}

HEDDLE_TEST(runs, "a scenario that differs from run to run is told so") {
  const environment none("HEDDLE_SEED", nullptr), no_time("HEDDLE_HUNT_S", nullptr);
  const made_folder folder;
  int runs = 0;
  ::testing::internal::CaptureStderr();
  const sim::runs_outcome found = sim::for_runs({.name = "fickle", .folder = folder.path},
                                                sleeping_longer(runs, "always: fails"));
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_FALSE(found);
  EXPECT_NE(said.find("the run does not repeat"), std::string::npos) << said;
}

HEDDLE_TEST(runs, "a scenario that passes and does not repeat is found by its second run") {
  const environment none("HEDDLE_SEED", nullptr), no_time("HEDDLE_HUNT_S", nullptr);
  const made_folder folder;
  int runs = 0;
  const sim::scenario fickle = sleeping_longer(runs, "");
  ::testing::internal::CaptureStderr();
  const sim::runs_outcome found =
      sim::for_runs({.name = "fickle", .repeat_one_in = 7, .folder = folder.path}, fickle);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(found.failed, "differs: two runs of one seed");
  EXPECT_EQ(found.ran, 7U);
  EXPECT_TRUE(said.contains("first difference at record ")) << said;
  // The second run may also fail for what no trace shows.
  runs = 0;
  ::testing::internal::CaptureStderr();
  const sim::runs_outcome keeps = sim::for_runs(
      {.name = "keeps", .repeat_one_in = 1, .folder = folder.path},
      [&runs](const sim::cluster_options& drawn) -> std::string {
        sim::cluster all(drawn);
        all.add({.name = "one", .program = [](sim::node&) -> task<int> { co_return 0; }});
        static_cast<void>(all.run(1min));
        return ++runs == 2 ? "lost: a value" : "";
      });
  static_cast<void>(::testing::internal::GetCapturedStderr());
  EXPECT_EQ(keeps.failed, "differs: lost: a value");
  EXPECT_TRUE(sim::for_runs({.name = "fickle", .repeat_one_in = 0, .folder = folder.path}, fickle));
}

HEDDLE_TEST(runs, "leaving one fault out moves no other one") {
  // Of all faults of operations that came, the first is left out: all others come at the same
  // numbers.
  const auto run = [](std::optional<sim::run_file> file) {
    sim::cluster_options options{.world = {.seed = 5, .faults = {.interrupted = 0.2}}};
    options.replay = std::move(file);
    sim::run_file record;
    options.at_end = [&record](const sim::cluster& all) { record = all.record(); };
    static_cast<void>(counting(options, planted::nothing));
    return record;
  };
  sim::run_file first = run(std::nullopt);
  ASSERT_GE(first.faults.size(), 10U);
  EXPECT_EQ(run(first).trace_hash, first.trace_hash);
  first.faults.erase(first.faults.begin());
  EXPECT_EQ(sim::to_text(run(first)).substr(0, 200), sim::to_text([&] {
                                                       sim::run_file same = first;
                                                       same.trace_hash = 0;
                                                       return same;
                                                     }())
                                                         .substr(0, 200));
}

HEDDLE_TEST(runs, "a calm stream changes nothing of the others, and 0 is the calm choice") {
  sim::run_file file{.seed = 5};
  const auto run = [&file](sim_rates faults) {
    sim::cluster_options options{.world = {.link = {.latency = 1ms, .jitter = 50ms, .loss = 0.5},
                                           .slow_links = 0.5,
                                           .faults = faults}};
    options.replay = file;
    sim::cluster all(std::move(options));
    nanoseconds took{};
    all.add({.name = "web", .program = echo_service, .service = true});
    all.add({.name = "user", .program = [&took](sim::node& n) -> task<int> {
               const time_point before = n.driver().now();
               const std::string back = co_await echo("web", "hello");
               took = n.driver().now() - before;
               co_return 0;
             }});
    EXPECT_TRUE(all.run(1min));
    return took;
  };
  for (const char* stream : {"turns", "web.order", "user.order", "web.wire", "user.wire"})
    file.calm.push_back({stream, 1, 1'000'000});
  // Without jitter, a slow link, or time of the disk: 4 ms for two round trips, and 1 for the name.
  EXPECT_LT(run({}), 6ms);
  file.calm.clear();
  EXPECT_GT(run({}), 6ms);
}

}  // namespace
}  // namespace heddle::test

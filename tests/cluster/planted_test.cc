// SPDX-License-Identifier: MIT
// A store with a mistake, under clients that write down what they saw: each mistake is found, made
// small, and found again by its file; the store without one has no fault.
#include <array>
#include <cstdlib>
#include <filesystem>

#include "cluster/random_run.hh"
#include "cluster/store.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/sim/cluster.hh"
#include "heddle/sim/history.hh"
#include "heddle/sim/models.hh"
#include "heddle/sim/runs.hh"
#include "support/draws.hh"
#include "support/environment.hh"
#include "support/made_folder.hh"
#include "support/seeds.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;
using sim::cell;
using sim::growing_list;

constexpr nanoseconds patience = 2s;
constexpr nanoseconds healed = 25s;

constexpr sim_rates store_rates{
    .short_transfer = 0.05, .interrupted = 0.02, .reset = 0.005, .io_error = 0.01, .delayed = 0.05};

/// What the runs did, and how much of it.
struct store_totals {
  std::uint64_t answers = 0, unanswered = 0, refused = 0;
};

/// A client with one connection, to the store or to its front.
class store_client {
 public:
  explicit store_client(std::string to) : to_(std::move(to)) {}

  /// Sends requests at once, and gives their answers in order: as many as came in time.
  task<std::vector<std::string>> ask(std::vector<std::string> requests) {
    std::vector<std::string> answers;
    const auto all = co_await as_expected(with_timeout(exchange(requests, answers), patience));
    if (!all) conn_ = {};
    co_return answers;
  }
  /// Sends one request; "" if no answer came in time.
  task<std::string> ask_one(std::string request) {
    std::vector<std::string> requests(1, std::move(request));
    const std::vector<std::string> answers = co_await ask(std::move(requests));
    co_return answers.empty() ? std::string() : answers.front();
  }

 private:
  task<> exchange(const std::vector<std::string>& requests, std::vector<std::string>& answers) {
    if (!conn_) conn_ = co_await tcp_connect(to_, store_port);
    std::string lines;
    for (const std::string& r : requests) (lines += r) += '\n';
    co_await conn_.write(std::string_view(lines));
    line_reader in(conn_);
    for (std::size_t i = 0; i != requests.size(); ++i) answers.emplace_back(co_await in.line());
  }

  std::string to_;
  tcp_stream conn_;
};

class store_run {
 public:
  store_run(const sim::cluster_options& drawn, mistake m, store_totals& totals)
      : draw_(drawn.world.seed),
        seed_(drawn.world.seed),
        totals_(totals),
        all_(with_drawn_faults(drawn, store_rates)) {
    sim::node& at = all_.add({.name = "store",
                              .program = [m](sim::node&) { return serve_store(m); },
                              .service = true,
                              .clock_offset = draw_.span(2s)});
    at.write_file("/data/here", "");
    all_.add({.name = "front",
              .program = [m](sim::node&) { return serve_front(m); },
              .service = true,
              .clock_offset = draw_.span(2s)});
    const std::uint64_t clients = all_.size("clients", 3);
    const std::uint64_t requests = all_.size("requests", 30);
    for (std::uint64_t i = 0; i != clients; ++i)
      all_.add({.name = "user" + std::to_string(i),
                .program = [this, i, requests](sim::node&) { return visit(i, requests); },
                .spared = true});
  }

  std::string run() {
    const sim::outcome end = all_.run(5min);
    std::string wrong = cells_.wrong();
    if (wrong.empty()) wrong = lists_.wrong();
    if (wrong.empty()) wrong = silent_;
    if (!wrong.empty()) return wrong;
    return verdict_on(end);
  }

 private:
  static task<int> serve_store(mistake m) {
    store here(m);
    co_return co_await serve_always<store>(here, [](store& s) { return s.serve(); });
  }
  static task<int> serve_front(mistake m) {
    store_front here(m);
    co_return co_await serve_always<store_front>(here, [](store_front& s) { return s.serve(); });
  }
  /// Ends an operation of a cell by the store's answer.
  void end(sim::operation_id id, const std::vector<std::string>& answers, std::size_t which) {
    ++(answers.size() > which ? totals_.answers : totals_.unanswered);
    if (answers.size() <= which) return;
    const std::string& text = answers[which];
    if (text == "ok") cells_.answer(id, {});
    if (text == "differs") cells_.answer(id, {.done = false});
    if (text == "refused") cells_.refused(id);
    if (text.starts_with("value ")) cells_.answer(id, {.value = value_in(text)});
  }
  static std::string value_in(const std::string& answer) {
    const std::string text = answer.substr(6);
    return text == "-" ? "" : text;
  }
  static growing_list::output items_in(const std::string& answer) {
    growing_list::output got;
    std::string text = value_in(answer);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      got.items.push_back(text.substr(at, comma - at));
      at = comma + 1;
    }
    return got;
  }

  /// One or two operations of a cell, sent together.
  task<> use_cell(store_client& to, std::string me, std::string name, draws draw) {
    const std::string key = "cell" + std::to_string(draw.below(2));
    // Long values span several sectors of a disk.
    const std::string value = name + std::string(draw.below(2500), 'x');
    const std::string last = seen_[key];
    std::vector<std::string> requests;
    std::vector<sim::operation_id> ids;
    const bool changes = draw.one_of(2);
    if (changes && draw.one_of(2)) {
      requests.push_back("put-if " + key + ' ' + last + ' ' + value);
      ids.push_back(cells_.call(me, key, cell::put_if(last, value)));
    } else if (changes) {
      requests.push_back("put " + key + ' ' + value + " now");
      ids.push_back(cells_.call(me, key, cell::put(value)));
    }
    if (!changes || draw.one_of(2)) {
      requests.push_back("get " + key);
      ids.push_back(cells_.call(me, key, cell::get()));
    }
    const std::vector<std::string> answers = co_await to.ask(requests);
    for (std::size_t i = 0; i != ids.size(); ++i) end(ids[i], answers, i);
    for (const std::string& a : answers)
      if (a.starts_with("value ")) seen_[key] = value_in(a);
  }

  task<> use_list(store_client& to, std::string me, std::string item, bool adds) {
    const auto id = lists_.call(me, "list", adds ? growing_list::add(item) : growing_list::get());
    std::string request = "get list";
    if (adds) request = "add list " + item + " id-" + item;
    const std::string answer = co_await to.ask_one(request);
    ++(answer.empty() ? totals_.unanswered : totals_.answers);
    if (answer == "refused") lists_.refused(id);
    if (answer == "ok") lists_.answer(id, growing_list::output());
    if (answer.starts_with("value ")) lists_.answer(id, items_in(answer));
  }

  /// Takes the lock, reads the list, and after a while writes it with one more item.
  task<> add_under_lock(store_client& to, std::string me, std::string item, nanoseconds thinks) {
    const std::string lock = co_await to.ask_one("acquire");
    if (!lock.starts_with("number ")) co_return;
    const std::string number = lock.substr(7);
    const std::string before = co_await to.ask_one("read locked " + number);
    if (!before.starts_with("value ")) co_return;
    co_await sleep_for(thinks);
    const auto id = lists_.call(me, "locked", growing_list::add(item));
    std::string text = value_in(before);
    if (!text.empty()) text += ',';
    text = "write locked " + text + item + ' ' + number;
    const std::string done = co_await to.ask_one(text);
    ++(done.empty() ? totals_.unanswered : totals_.answers);
    growing_list::output longer;
    longer.length = items_in(before).items.size() + 1;
    if (done == "ok") lists_.answer(id, longer);
    if (done != "refused") co_return;
    lists_.refused(id);
    ++totals_.refused;
  }

  /// After all trouble, a service answers within 30 s.
  task<> until_answered(store_client& to, const char* name) {
    for (int tries = 0; tries != 30; ++tries) {
      const std::string answer = co_await to.ask_one("get anything");
      if (!answer.empty()) co_return;
      co_await sleep_for(1s);
    }
    if (silent_.empty()) silent_ = std::string("silent: after healing, ") + name;
  }

  /// Each request has draws and a time of its own, so that leaving out a fault moves no request
  /// that the fault did not touch. Requests come in bursts, so that many meet.
  task<int> visit(std::uint64_t number, std::uint64_t requests) {
    const std::string me = "user" + std::to_string(number);
    store_client direct("store"), by_front("front");
    nanoseconds at = 100ms;
    for (std::uint64_t i = 0; i != requests; ++i) {
      draws draw(seed_, 2 + number * 1000 + i);
      at += draw.span(draw.one_of(2) ? 20ms : 1500ms);
      co_await sleep_for(std::max(at - all_.time(), 0ns));
      store_client& to = draw.one_of(2) ? direct : by_front;
      const std::string name = me + '.' + std::to_string(i);
      const std::uint64_t what = draw.below(4);
      if (what < 2)
        co_await use_cell(to, me, name, draw);
      else if (what == 2)
        co_await use_list(to, me, name, draw.one_of(2));
      else
        co_await add_under_lock(to, me, name, draw.span(1500ms));
    }
    co_await sleep_for(std::max(healed - all_.time(), 0ns));
    co_await until_answered(direct, "the store");
    co_await until_answered(by_front, "the front");
    co_return 0;
  }

  draws draw_;
  std::uint64_t seed_;
  store_totals& totals_;
  sim::history<cell> cells_;
  sim::history<growing_list> lists_;
  std::map<std::string, std::string> seen_;  ///< the last value that anyone has read, by key
  std::string silent_;
  sim::cluster all_;
};

sim::runs_options options_for(mistake m) {
  return {.name = std::string("store-") + to_string(m), .cluster = {.trouble = {.count_max = 12}}};
}

HEDDLE_TEST(store_seeds, "a store's answers have an order, whatever breaks") {
  store_totals sum;
  sim::runs_options options = options_for(mistake::none);
  options.seeds.count = 200 / seeds_slower;
  const sim::runs_outcome all = sim::for_runs(options, [&](const sim::cluster_options& drawn) {
    store_run one(drawn, mistake::none, sum);
    return one.run();
  });
  EXPECT_TRUE(all) << all.failed;
  if (judges_totals({.ran = all.ran}, 25)) {
    EXPECT_GT(sum.answers, 1000U);
    EXPECT_GT(sum.unanswered, 50U);
    EXPECT_GT(sum.refused, all.ran / 10);
  }
}

/// Finds a mistake, and replays the small run that is left of it.
void find(mistake m, std::size_t& faults_left, std::string& table) {
  const made_folder folder;
  store_totals sum;
  sim::runs_options options = options_for(m);
  options.seeds = {.count = 2000, .command = "again"};
  options.folder = folder.path;
  const sim::scenario body = [&](const sim::cluster_options& drawn) {
    store_run one(drawn, m, sum);
    return one.run();
  };
  const sim::runs_outcome found = sim::for_runs(options, body);
  EXPECT_TRUE(found.failed.starts_with("not linearizable: ")) << to_string(m) << found.failed;
  faults_left = found.smallest.troubles.size() + found.smallest.faults.size();
  table += std::string(to_string(m)) + ": run " + std::to_string(found.ran) + ", " +
           std::to_string(faults_left) + " faults after " + std::to_string(found.shrink_runs) +
           " runs\n";
  const environment run("HEDDLE_RUN", found.file.c_str());
  const sim::runs_outcome again = sim::for_runs(options, body);
  EXPECT_EQ(again.failed.substr(0, again.failed.find('\n')), found.smallest.expect);
  EXPECT_EQ(again.smallest.trace_hash, found.smallest.trace_hash);
}

HEDDLE_TEST(store, "each mistake is found in 2000 runs, made small, and replayed") {
  const environment none("HEDDLE_SEED", nullptr), no_time("HEDDLE_HUNT_S", nullptr);
  std::string table;
  unsigned small = 0, planted = 0;
  for (auto m = mistake::none;
       (m = static_cast<mistake>(static_cast<int>(m) + 1)) != mistake::count;) {
    ::testing::internal::CaptureStderr();
    std::size_t left = 0;
    find(m, left, table);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_FALSE(::testing::Test::HasFailure()) << to_string(m) << ":\n" << said;
    ++planted;
    small += left <= 3 ? 1 : 0;
  }
  // Nine of ten are left with at most three faults.
  EXPECT_GE(small * 10, planted * 9) << table;
  std::printf("%s", table.c_str());
}

}  // namespace
}  // namespace heddle::test

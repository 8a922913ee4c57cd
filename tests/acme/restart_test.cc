// SPDX-License-Identifier: MIT
// A program is started several times on one disk: it replaces files, saves certificates and
// appends, until it is killed or the power fails. After each operation the files are checked: each
// has its old or its new content, acknowledged writes are there, and unfinished files do not pile
// up.
#include <algorithm>
#include <map>
#include <set>

#include "heddle/acme/store.hh"
#include "heddle/heddle.hh"
#include "heddle/io/directory.hh"
#include "heddle/io/file.hh"
#include "heddle/sim/driver.hh"
#include "support/seeds.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using disk_files = std::map<std::string, std::string>;

/// Numbers from a seed (splitmix64).
class life_dice {
 public:
  explicit life_dice(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  std::size_t below(std::size_t limit) noexcept { return next() % limit; }

 private:
  std::uint64_t state_;
};

/// A text that names itself, so that a mixture of two is seen.
std::string text_of(std::uint64_t number, std::size_t size) {
  std::string text = std::to_string(number) + ':';
  while (text.size() < size) text += static_cast<char>('a' + (number * 31 + text.size()) % 26);
  return text;
}

/// What the model knows of a file that is replaced whole.
struct whole_file {
  std::optional<std::string> acknowledged;  ///< durable, as the program was told
  std::optional<std::string> begun;         ///< may be there instead
  std::vector<std::string> history = {};    ///< all that were begun
};

/// What it knows of a file that only grows.
struct growing_file {
  std::string all;          ///< in the order of the writes
  std::size_t written = 0;  ///< acknowledged: there after a kill
  std::size_t durable = 0;  ///< synced: there after a power failure
};

struct disk_model {
  std::map<std::string, whole_file> whole;
  std::map<std::string, growing_file> growing;
  std::uint64_t numbers = 0;
  std::size_t reads = 0;
  std::size_t removed = 0;  ///< unfinished files of earlier lives
};

constexpr const char* store_folder = "/state";

/// One life: tasks that change files, each file by one task.
class life {
 public:
  life(std::uint64_t seed, disk_model& model) : dice_(seed), model_(model) {}

  task<> run() {
    const directory data = co_await open_directory("/data");
    for (const char* const name : {"one", "two"}) {
      const std::size_t removed = co_await data.remove_unfinished(name);
      model_.removed += removed;
    }
    scope tasks;
    const std::size_t on = 1 + dice_.below(31);  // a random half of the kinds
    if ((on & 1) != 0) tasks.spawn(replace("/data/one", 1 + dice_.below(3)));
    if ((on & 2) != 0) tasks.spawn(replace("/data/two", 1 + dice_.below(3)));
    if ((on & 4) != 0) tasks.spawn(save("ca.example/www.example.org", 1 + dice_.below(3)));
    if ((on & 8) != 0) tasks.spawn(save("ca.example/account", 1 + dice_.below(2)));
    if ((on & 16) != 0) tasks.spawn(append("/data/grows", 1 + dice_.below(4)));
    if (dice_.below(2) == 0) tasks.spawn(read("/data/one", 4));
    co_await tasks.join();
  }

  /// The tasks go on for a while, but the program is dead.
  void end() noexcept { ended_ = true; }
  [[nodiscard]] bool ended() const noexcept { return ended_; }

 private:
  std::string next_text() { return text_of(++model_.numbers, 1 + dice_.below(9'000)); }

  task<> replace(std::string path, std::size_t times) {
    whole_file& f = model_.whole[path];
    for (std::size_t i = 0; i != times; ++i) {
      const std::string text = next_text();  // the model forgets its own at the end of this life
      f.begun = text;
      f.history.push_back(text);
      co_await write_file(path, byte_view(text));
      f.acknowledged = text;
    }
  }

  task<> save(std::string name, std::size_t times) {
    acme::directory_store store(store_folder);
    whole_file& f = model_.whole[store.place_of(name)];
    const auto loaded = co_await store.load(name);
    EXPECT_EQ(loaded, f.acknowledged);
    const acme::store_claim claimed = co_await store.claim(name);
    EXPECT_TRUE(claimed) << "a claim of a process that has ended";
    for (std::size_t i = 0; i != times; ++i) {
      f.begun = next_text();
      co_await store.save(name, *f.begun);
      f.acknowledged = f.begun;
    }
  }

  /// A reload reads the settings while they are replaced.
  task<> read(std::string path, std::size_t times) {
    const whole_file& f = model_.whole[path];
    for (std::size_t i = 0; i != times; ++i) {
      const auto before = f.acknowledged;
      const auto earlier = f.begun;
      const std::size_t first = f.history.size();
      const auto got = co_await as_expected(read_file(path));
      if (ended_) co_return;
      ++model_.reads;
      if (!got) {
        EXPECT_FALSE(before.has_value());
        continue;
      }
      const auto since = f.history.begin() + static_cast<std::ptrdiff_t>(first);
      EXPECT_TRUE(*got == before || *got == earlier || *got == f.begun ||
                  std::find(since, f.history.end(), *got) != f.history.end())
          << *got;
    }
  }

  task<> append(std::string path, std::size_t times) {
    growing_file& g = model_.growing[path];
    const file f = co_await open_file(path, {.write = true, .create = true, .append = true});
    const directory folder = co_await open_directory("/data");
    co_await folder.sync();
    for (std::size_t i = 0; i != times; ++i) {
      const std::string text = next_text();
      g.all += text;
      co_await f.write_at(0, byte_view(text));
      g.written = g.all.size();
      if (dice_.below(2) != 0) continue;
      const std::size_t here = g.all.size();
      co_await f.sync(true);
      g.durable = here;
    }
  }

  life_dice dice_;
  disk_model& model_;
  bool ended_ = false;
};

/// Whether this is the name of a file that write_file() had not finished.
bool is_unfinished(const std::string& path) {
  return path.substr(path.rfind('/') + 1).starts_with('.');
}

/// Compares the files that an end of the program would leave with the model.
void check_files(const disk_files& files, const disk_model& model, bool power_fails,
                 const std::string& when) {
  const auto content = [&](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  };
  for (const auto& [path, f] : model.whole) {
    const auto now = content(path);
    EXPECT_TRUE(now == f.acknowledged || (f.begun && now == f.begun))
        << path << when << (power_fails ? " without power" : " killed") << ": "
        << (now ? now->substr(0, 20) : "<nothing>") << ", acknowledged "
        << (f.acknowledged ? f.acknowledged->substr(0, 20) : "<nothing>");
  }
  for (const auto& [path, g] : model.growing) {
    const std::string now = content(path).value_or("");
    const std::size_t least = power_fails ? g.durable : g.written;
    EXPECT_TRUE(g.all.starts_with(now)) << path << when << " holds other bytes than were written";
    EXPECT_GE(now.size(), least) << path << when << (power_fails ? " without power" : " killed");
  }
}

/// The files that the program left are those with which it is started again.
void settle(disk_model& model, const disk_files& files) {
  for (auto& [path, f] : model.whole) {
    const auto found = files.find(path);
    f.acknowledged = found == files.end() ? std::nullopt : std::optional(found->second);
    f.begun.reset();
  }
  for (auto& [path, g] : model.growing) {
    const auto found = files.find(path);
    g.all = found == files.end() ? std::string() : found->second;
    g.written = g.durable = g.all.size();
  }
}

struct life_end {
  disk_files files;
  std::size_t operations = 0;
};

/// Lives on these files up to this operation, and looks at the disk at each before.
life_end live(const disk_files& files, disk_model& model, std::uint64_t seed, std::size_t last,
              bool power_fails) {
  auto made = std::make_unique<sim_driver>(sim_options{.seed = seed, .inline_rate = 0});
  sim_driver& sim = *made;
  sim.make_directories("/data");
  for (const auto& [path, content] : files) sim.write_file(path, content);
  sim.advance(std::chrono::hours(2));  // unfinished files are then old enough to be removed
  life_end end;
  runtime rt(std::move(made), {});
  life now(seed, model);
  bool over = false;
  spawn([](life& of, bool& done) -> task<> {
    const auto r = co_await as_expected(of.run());
    EXPECT_TRUE(r || of.ended()) << r.error().message();
    done = true;
  }(now, over));
  std::uint64_t trace = sim.trace_hash();
  while (!over && end.operations != last && !::testing::Test::HasFailure()) {
    rt.once();
    sim.advance(nanoseconds(1'000));
    if (sim.trace_hash() == trace) continue;
    trace = sim.trace_hash();
    const std::string when = " at operation " + std::to_string(++end.operations);
    check_files(sim.files(), model, false, when);
    check_files(sim.durable_files(), model, true, when);
  }
  end.files = power_fails ? sim.durable_files() : sim.files();
  if (power_fails) {
    sim.crash_disk();
    EXPECT_EQ(sim.files(), end.files);
  }
  now.end();
  settle(model, end.files);
  // Tasks that still run change the model, but the files were read before: `end.files`.
  disk_model settled = model;
  EXPECT_EQ(rt.drain(), 0u);
  EXPECT_EQ(sim.open_descriptors(), 0u);
  model = std::move(settled);
  return end;
}

/// Those of writers that ran when a life ended, and of no life before it.
constexpr std::size_t unfinished_most = 4;

HEDDLE_TEST(restart, "at every operation the files are old or new, and nothing piles up") {
  std::size_t operations = 0;
  std::size_t reads = 0;
  std::size_t removed = 0;
  std::size_t early = 0;
  const sim::seeds_outcome outcome = for_seeds(100, [&](std::uint64_t seed) {
    life_dice dice(seed);
    disk_files files;
    disk_model model;
    for (std::size_t lives = 2 + dice.below(4); lives != 0; --lives) {
      const std::size_t last = 1 + dice.below(60);
      const life_end end = live(files, model, dice.next() % 1'000'000, last, dice.below(2) == 0);
      files = end.files;
      operations += end.operations;
      early += end.operations == last ? 1 : 0;
      std::size_t unfinished = 0;
      for (const auto& [path, content] : files) unfinished += is_unfinished(path) ? 1 : 0;
      EXPECT_LE(unfinished, unfinished_most);
    }
    reads += model.reads;
    removed += model.removed;
  });
  if (!judges_totals(outcome, 100)) return;
  EXPECT_GT(operations, outcome.ran * 20);
  EXPECT_GT(early, outcome.ran);
  EXPECT_GT(reads, 0u);
  EXPECT_GT(removed, 0u);
}

}  // namespace
}  // namespace heddle::test

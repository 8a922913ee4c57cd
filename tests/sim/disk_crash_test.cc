// SPDX-License-Identifier: MIT
// What a power failure leaves of a node's disk: synced content and names, whole renames, pages of
// the old or the new content. Random steps on files are compared with what may be left.
#include <algorithm>
#include <map>
#include <set>

#include "heddle/core/expected.hh"
#include "heddle/io/directory.hh"
#include "heddle/io/file.hh"
#include "nodes.hh"
#include "support/draws.hh"
#include "support/seeds.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;
using disk_files = std::map<std::string, std::string>;

/// Runs a program on one node, kills it as soon as the program sleeps, and gives its files.
disk_files after_power_failure(std::uint64_t seed, const std::function<task<>()>& program) {
  sim::cluster all({.world = {.seed = seed}});
  sim::node& one = all.add({.name = "one", .program = [&program](sim::node&) -> task<int> {
                              co_await program();
                              co_await sleep_for(1h);
                              co_return 0;
                            }});
  all.at(1s, [&] { all.kill(one); });
  EXPECT_STREQ(word(all.run(10s)), "nothing left");
  EXPECT_EQ(one.files(), one.durable_files());
  return one.files();
}

task<> sync_directory(std::string path) {
  const directory place = co_await open_directory(std::move(path));
  co_await place.sync();
}

HEDDLE_TEST(disk_crash, "each page that was not synced is the old or the new one") {
  std::set<std::size_t> new_pages;
  std::set<std::size_t> lengths;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const disk_files left = after_power_failure(seed, []() -> task<> {
      const file f = co_await open_file("/f", {.write = true, .create = true});
      const std::string before(10'000, 'o'), after(20'000, 'n');
      co_await f.write_at(0, std::string_view(before));
      co_await f.sync();
      co_await sync_directory("/");
      co_await f.write_at(0, std::string_view(after));
    });
    const std::string& content = left.at("/f");
    ASSERT_GE(content.size(), 10'000U);
    ASSERT_LE(content.size(), 20'000U);
    const std::size_t grown = content.size() - 10'000;
    EXPECT_TRUE(grown % 512 == 0 || content.size() == 20'000) << content.size();
    lengths.insert(content.size());
    std::size_t count = 0;
    for (std::size_t page = 0; page * 4096 < content.size(); ++page) {
      const std::string_view bytes = std::string_view(content).substr(page * 4096, 4096);
      const bool fresh = bytes.find_first_not_of('n') == std::string_view::npos;
      const std::size_t of_old =
          std::min<std::size_t>(bytes.size(), page * 4096 < 10'000 ? 10'000 - page * 4096 : 0);
      const bool old = bytes.substr(0, of_old).find_first_not_of('o') == std::string_view::npos &&
                       bytes.substr(of_old).find_first_not_of('\0') == std::string_view::npos;
      EXPECT_TRUE(fresh || old) << "page " << page;
      count += fresh ? 1 : 0;
    }
    new_pages.insert(count);
  }
  EXPECT_GE(new_pages.size(), 4U) << "some seeds keep few pages, others many";
  EXPECT_GE(lengths.size(), 10U);
}

HEDDLE_TEST(disk_crash, "a rename that was not synced is kept whole or lost whole") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const disk_files left = after_power_failure(seed, []() -> task<> {
      co_await write_file("/settings", "old");
      const file settled = co_await open_file("/settings", {.write = true});
      co_await settled.sync();
      co_await sync_directory("/");
      const file f = co_await open_file("/settings.new", {.write = true, .create = true});
      co_await f.write_at(0, "new");
      co_await f.sync();
      co_await rename_file("/settings.new", "/settings");
    });
    std::string all;
    for (const auto& [path, content] : left) all += path + "=" + content + " ";
    seen.insert(all);
  }
  // The new file's own name may be kept without the rename.
  EXPECT_EQ(seen, (std::set<std::string>{"/settings=new ", "/settings=old ",
                                         "/settings=old /settings.new=new "}));
}

/// Makes a synced file without syncing its name.
task<> make_synced(std::string path, std::string content) {
  const file f = co_await open_file(path, {.write = true, .create = true, .truncate = true});
  co_await f.write_at(0, std::string_view(content));
  co_await f.sync();
}

/// All states in which some seeds leave the disk, as "path=content path=content".
std::set<std::string> all_states(const std::function<task<>()>& program) {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    std::string all;
    for (const auto& [path, content] : after_power_failure(seed, program)) {
      all += all.empty() ? "" : " ";
      all += path + "=" + content;
    }
    seen.insert(all);
  }
  return seen;
}

HEDDLE_TEST(disk_crash, "changes of one name are kept in their order, and each state is seen") {
  using states = std::set<std::string>;
  EXPECT_EQ(all_states([]() -> task<> {
              for (const char* content : {"0", "1", "2"}) {
                co_await make_synced("/f.new", content);
                co_await rename_file("/f.new", "/f");
                if (content[0] == '0') co_await sync_directory("/");
              }
            }),
            (states{"/f=0", "/f=0 /f.new=1", "/f=1", "/f=1 /f.new=2", "/f=2"}));
  EXPECT_EQ(all_states([]() -> task<> {
              co_await make_synced("/b", "B");
              co_await sync_directory("/");
              co_await rename_file("/b", "/c");
              co_await make_synced("/b", "N");
            }),
            (states{"/b=B", "/c=B", "/b=N /c=B"}));
  EXPECT_EQ(all_states([]() -> task<> {
              co_await make_synced("/m", "M");
              co_await remove_file("/m");
            }),
            (states{"", "/m=M"}));
}

HEDDLE_TEST(disk_crash,
            "what was made in a folder that is lost is lost with it, or both are kept") {
  bool kept = false, lost = false;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const disk_files left = after_power_failure(seed, []() -> task<> {
      co_await write_file("/kept", "kept");
      co_await sync_directory("/");
      co_await make_directory("/a");
      co_await make_directory("/a/b");
      co_await rename_file("/kept", "/a/b/kept");
    });
    EXPECT_TRUE(left.contains("/kept") != left.contains("/a/b/kept")) << seed;
    kept = kept || left.contains("/a/b/kept");
    lost = lost || left.contains("/kept");
  }
  EXPECT_TRUE(kept && lost);
}

HEDDLE_TEST(disk_crash, "a file that was cut and written again is old, cut, or partly written") {
  const auto cut_and_write = [](std::size_t old, std::size_t fresh) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
      const disk_files left = after_power_failure(seed, [=]() -> task<> {
        co_await make_synced("/f", std::string(old, 'o'));
        co_await sync_directory("/");
        const file f = co_await open_file("/f", {.write = true, .truncate = true});
        const std::string text(fresh, 'n');
        co_await f.write_at(0, std::string_view(text));
      });
      seen.insert(left.at("/f"));
    }
    return seen;
  };
  EXPECT_EQ(cut_and_write(5000, 3),
            (std::set<std::string>{"", "nnn", std::string(3, '\0'), std::string(5000, 'o')}));
  for (const std::string& content : cut_and_write(9000, 9000)) {
    const bool whole_old = content == std::string(9000, 'o');
    EXPECT_TRUE(whole_old || content.find('o') == std::string::npos) << content.size();
  }
}

/// Random steps on a small tree, and what a power failure after them may leave.
class disk_steps {
 public:
  explicit disk_steps(std::uint64_t seed) : draw_(seed) {}

  task<> run() {
    for (std::uint64_t left = draw_.from(5, 40); left != 0; --left) {
      const std::uint64_t step = draw_.below(12);
      if (step < 3)
        co_await write(name());
      else if (step < 6)
        co_await move(name(), name());
      else if (step == 6)
        co_await drop(name());
      else if (step == 7 || step == 8)
        co_await sync(name());
      else if (step == 9)
        co_await make("/tmp/a/");
      else if (step == 10)
        co_await remove("/tmp/a/");
      else
        co_await sync_names(folder());
    }
  }
  /// Whether a file that was synced, with its name, and then not touched by name is there, and
  /// whether all that is there was written once.
  void check(const disk_files& left, std::uint64_t seed) const {
    std::map<std::string, int> times;
    for (const auto& [path, content] : left) {
      if (content.empty()) continue;
      const std::string mark = content.substr(0, content.find('.'));
      // Lost pages of a new file read as zeros.
      if (content[0] == '\0') continue;
      EXPECT_TRUE(written_.contains(mark)) << seed << " " << path << " " << mark;
      ++times[mark];
    }
    for (const std::string& mark : safe_)
      EXPECT_TRUE(times.contains(mark)) << "seed " << seed << " lost " << mark;
  }

 private:
  std::string folder() {
    static constexpr const char* folders[] = {"/", "/tmp/", "/tmp/a/"};
    return folders[draw_.below(3)];
  }
  std::string name() { return folder() + (draw_.one_of(2) ? "x" : "y"); }
  void forget(const std::string& path) {
    if (const auto at = content_.find(path); at != content_.end()) {
      safe_.erase(at->second);
      synced_.erase(at->second);
      content_.erase(at);
    }
  }

  task<> write(std::string path) {
    const std::string mark = std::to_string(++count_);
    const std::string text = mark + "." + std::string(draw_.below(3) * 5000, 'x');
    const auto made = co_await as_expected(
        open_file(path + ".new", {.write = true, .create = true, .truncate = true}));
    if (!made) co_return;
    co_await made->write_at(0, std::string_view(text));
    const auto moved = co_await as_expected(rename_file(path + ".new", path));
    if (!moved) co_return;
    forget(path);
    written_.insert(mark);
    content_[path] = mark;
  }
  task<> move(std::string from, std::string to) {
    if (from == to) co_return;
    const auto moved = co_await as_expected(rename_file(from, to));
    if (!moved) co_return;
    const std::string mark = content_.at(from);
    forget(to);
    content_.erase(from);
    content_[to] = mark;
  }
  task<> drop(std::string path) {
    const auto gone = co_await as_expected(remove_file(path));
    if (gone) forget(path);
  }
  task<> sync(std::string path) {
    const auto opened = co_await as_expected(open_file(path, {.write = true}));
    if (!opened) co_return;
    co_await opened->sync();
    synced_.insert(content_.at(path));
  }
  task<> make(std::string path) { static_cast<void>(co_await as_expected(make_directory(path))); }
  task<> remove(std::string path) {
    const auto gone = co_await as_expected(remove_directory(path));
    if (gone) durable_folders_.erase(path);
  }
  /// Makes files safe whose content was synced, if their folder was.
  task<> sync_names(std::string path) {
    const auto opened = co_await as_expected(open_directory(path));
    if (!opened) co_return;
    co_await opened->sync();
    if (path == "/tmp/") {
      const auto below = co_await as_expected(open_directory("/tmp/a"));
      if (below) durable_folders_.insert("/tmp/a/");
    }
    if (!durable_folders_.contains(path)) co_return;
    for (const auto& [at, mark] : content_)
      if (at.substr(0, at.rfind('/') + 1) == path && synced_.contains(mark)) safe_.insert(mark);
  }

  draws draw_;
  int count_ = 0;
  std::set<std::string> durable_folders_{"/", "/tmp/"};
  disk_files content_;             // by path: the mark of what is there
  std::set<std::string> written_;  // marks
  std::set<std::string> synced_;   // marks whose content was synced
  std::set<std::string> safe_;     // marks that a power failure must leave
};

HEDDLE_TEST(disk_crash, "what was synced survives random steps, wherever it was moved since") {
  for_seeds(5000, [](std::uint64_t seed) {
    disk_steps steps(seed);
    const disk_files left = after_power_failure(seed, [&steps] { return steps.run(); });
    steps.check(left, seed);
  });
}

}  // namespace
}  // namespace heddle::test

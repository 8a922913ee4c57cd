// SPDX-License-Identifier: MIT
// A directory as a root: nothing leads out of it, on every driver.
#include "heddle/io/directory.hh"

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "folder.hh"
#include "heddle/heddle.hh"
#include "outcome.hh"
#include "support/drivers.hh"

using namespace heddle;
using namespace heddle::test;

namespace {

/// A root with a file, a folder, links inside and out; a secret beside it.
struct planted {
  explicit planted(driver& d) : dir(d) {
    auto* sim = dynamic_cast<sim_driver*>(&d);
    const auto link = [&](const char* name, const std::string& target) {
      if (sim != nullptr) {
        sim->make_link(dir / name, target);
      } else {
        std::filesystem::create_symlink(target, dir / name);
      }
    };
    if (sim != nullptr) {
      sim->make_directories(dir / "root/sub");
      sim->write_file(dir / "root/sub/page", "page");
      sim->write_file(dir / "secret", "secret");
    } else {
      std::filesystem::create_directories(dir / "root/sub");
      write_real("root/sub/page", "page");
      write_real("secret", "secret");
    }
    link("root/in", "sub/page");
    link("root/out", "../secret");
    link("root/far", dir / "secret");
    link("root/loop", "loop");
  }
  void write_real(const char* name, const char* text) {
    std::FILE* f = std::fopen((dir / name).c_str(), "w");
    std::fputs(text, f);
    std::fclose(f);
  }
  folder dir;
};

task<> nothing_escapes(std::string root_path) {
  directory root = co_await open_directory(root_path);
  file page = co_await root.open("sub/page");
  EXPECT_EQ(co_await page.read_all(), "page");
  file linked = co_await root.open("in");
  EXPECT_EQ(co_await linked.read_all(), "page");
  for (const char* path : {"../secret", "sub/../../secret", "out", "far", "/etc/passwd", ".."}) {
    const auto outside = co_await as_expected(root.open(path));
    EXPECT_EQ(error_of(outside), std::errc::cross_device_link) << path;
    const auto known = co_await as_expected(root.status(path));
    EXPECT_EQ(error_of(known), std::errc::cross_device_link) << path;
  }
  const auto refused = co_await as_expected(root.open("in", {}, links::none));
  EXPECT_EQ(error_of(refused), std::errc::too_many_symbolic_link_levels);
  const auto loop = co_await as_expected(root.open("loop"));
  EXPECT_EQ(error_of(loop), std::errc::too_many_symbolic_link_levels);
  const auto cut = co_await as_expected(root.open(std::string("sub/page\0x", 10)));
  EXPECT_EQ(error_of(cut), std::errc::invalid_argument);
}

task<> names_change_beneath(std::string root_path) {
  directory root = co_await open_directory(root_path);
  co_await root.make_directory("sub/new", 0700);
  EXPECT_EQ((co_await root.status("sub/new")).type, entry_type::directory);
  file f = co_await root.open("sub/new/a", {.write = true, .create = true});
  co_await f.write_at(0, "text");
  co_await root.rename("sub/new/a", "sub/new/b");
  EXPECT_EQ((co_await root.status("sub/new/b")).size, 4u);
  const auto full = co_await as_expected(root.remove_directory("sub/new"));
  EXPECT_FALSE(full.has_value());
  co_await root.remove("sub/new/b");
  co_await root.remove_directory("sub/new");
  const auto gone = co_await as_expected(root.status("sub/new"));
  EXPECT_EQ(error_of(gone), std::errc::no_such_file_or_directory);
  co_await root.sync();
}

task<> names_do_not_change_outside(std::string root_path) {
  directory root = co_await open_directory(root_path);
  EXPECT_FALSE((co_await as_expected(root.remove("../secret"))).has_value());
  EXPECT_FALSE((co_await as_expected(root.remove(root_path + "/../secret"))).has_value());
  EXPECT_FALSE((co_await as_expected(root.make_directory("../made"))).has_value());
  EXPECT_FALSE((co_await as_expected(root.rename("../secret", "../moved"))).has_value());
  const auto moved_out = co_await as_expected(root.rename("sub/page", "../page"));
  EXPECT_EQ(error_of(moved_out), std::errc::invalid_argument);
  for (const char* name : {".", "..", "", "sub/.."}) {
    const auto removed = co_await as_expected(root.remove(name));
    EXPECT_EQ(error_of(removed), std::errc::invalid_argument) << name;
  }
  EXPECT_EQ(co_await read_file(root_path + "/../secret"), "secret");
}

task<> listed(std::string root_path) {
  directory root = co_await open_directory(root_path);
  const std::vector<directory_entry> names = co_await root.list();
  std::string all;
  for (const directory_entry& e : names) all += e.name + " ";
  EXPECT_EQ(all, "far in loop out sub ");
  EXPECT_EQ(names[4].type, entry_type::directory);
  EXPECT_EQ(names[1].type, entry_type::link);
  EXPECT_EQ((co_await root.list(listing_order::as_stored)).size(), 5u);
  const auto twice = co_await root.list();  // listing starts anew each time
  EXPECT_EQ(twice.size(), 5u);
}

task<> closed_too_early(std::string root_path) {
  directory root = co_await open_directory(root_path);
  for (int round = 0; round != 100; ++round) {
    for (const char* name : {"/closed", "/other"}) {
      co_await make_directory(root_path + name);
      co_await write_file(root_path + name + "/x", "x");
    }
    directory closed = co_await root.open_directory("closed");
    result<void> removed;
    scope s;
    s.spawn(
        [](directory d, result<void>& how) -> task<> { how = co_await as_expected(d.remove("x")); },
        closed, std::ref(removed));
    co_await yield();
    closed.close();
    directory other = co_await root.open_directory("other");
    co_await s.join();
    const bool stands = (co_await as_expected(root.status("closed/x"))).has_value();
    EXPECT_EQ(removed.has_value(), !stands);
    if (stands) {
      EXPECT_EQ(error_of(removed), std::errc::operation_canceled);
      co_await root.remove("closed/x");
    }
    co_await other.remove("x");  // or it would fail: it went with the other folder
    for (const char* name : {"closed", "other"}) co_await root.remove_directory(name);
  }
}

/// While a folder above it is renamed all the time, a link that goes up is found all the same.
task<> renamed_about(std::string root_path) {
  directory root = co_await open_directory(root_path);
  std::filesystem::create_directories(root_path + "/deep/a/b");
  std::filesystem::create_symlink("../../../sub/page", root_path + "/deep/a/b/up");
  std::atomic<bool> over = false;
  std::thread renames([&] {
    while (!over) {
      std::filesystem::rename(root_path + "/sub", root_path + "/moved");
      std::filesystem::rename(root_path + "/moved", root_path + "/sub");
    }
  });
  int found = 0;
  // Often enough, and until it was there once: the other thread may sleep while it is away.
  for (int i = 0; i < 300 || (found == 0 && i != 1'000'000); ++i) {
    const auto page = co_await as_expected(root.open("deep/a/b/up"));
    if (page)
      ++found;
    else
      EXPECT_EQ(error_of(page), std::errc::no_such_file_or_directory) << i;
  }
  over = true;
  renames.join();
  EXPECT_GT(found, 0);
}

task<> unfinished_go(std::string path) {
  const directory root = co_await open_directory(path);
  const std::string digits = "0123456789abcdef";
  const std::string kept[] = {"page",           ".page." + digits + "0", ".page.0123456789abcdeF",
                              ".pag." + digits, ".page" + digits,        "page." + digits};
  for (const std::string& name : kept) co_await write_file(path + "/" + name, "kept");
  co_await write_file(path + "/.page." + digits, "begun");
  co_await root.make_directory(".page.fedcba9876543210");
  const std::size_t young = co_await root.remove_unfinished("page");
  EXPECT_EQ(young, 0u) << "one may be written to right now";
  const std::size_t removed = co_await root.remove_unfinished("page", -std::chrono::seconds(1));
  EXPECT_EQ(removed, 1u);
  for (const std::string& name : kept) {
    const std::string text = co_await read_file(path + "/" + name);
    EXPECT_EQ(text, "kept");
  }
  const auto gone = co_await as_expected(read_file(path + "/.page." + digits));
  EXPECT_EQ(error_of(gone), std::errc::no_such_file_or_directory);
}

void run_planted(std::unique_ptr<driver> d, task<> (*body)(std::string)) {
  const planted world(*d);
  auto* sim = dynamic_cast<sim_driver*>(d.get());
  runtime rt(std::move(d), {});
  rt.run(body(world.dir / "root"));
  if (sim != nullptr) {
    EXPECT_EQ(sim->open_descriptors(), 0u) << sim->trace_text();
  }
}

}  // namespace

DRIVER_TEST(directory, "nothing escapes its root") { run_planted(make(), &nothing_escapes); }
DRIVER_TEST(directory, "names are made, renamed and removed beneath it") {
  run_planted(make(), &names_change_beneath);
}
DRIVER_TEST(directory, "names outside of it cannot be made, renamed or removed") {
  run_planted(make(), &names_do_not_change_outside);
}
DRIVER_TEST(directory, "F1 what is pending when it closes is done in it or not at all") {
  run_planted(make(), &closed_too_early);
}
DRIVER_TEST(directory, "what is renamed meanwhile does not keep a link from being followed") {
  auto d = make();
  if (d->simulated()) GTEST_SKIP() << "no other thread can rename in a simulated world";
  run_planted(std::move(d), &renamed_about);
}
DRIVER_TEST(directory, "its entries are listed by name") { run_planted(make(), &listed); }
DRIVER_TEST(directory, "it removes what write_file had begun when its process was killed") {
  auto d = make();
  const folder dir(*d);
  auto* const sim = dynamic_cast<sim_driver*>(d.get());
  runtime rt(std::move(d), {});
  rt.run(unfinished_go(dir.path()));
  if (sim != nullptr) {
    EXPECT_EQ(sim->open_descriptors(), 0u);
  }
}

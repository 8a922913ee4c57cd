// SPDX-License-Identifier: MIT
// The store of files: what is read back, rights, claims, and a save that fails or is cut off by a
// power failure at each of its steps. There is the old text then, or the new one, and never half.
#include "heddle/acme/store.hh"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "heddle/heddle.hh"
#include "heddle/sim/driver.hh"
#include "support/drivers.hh"

namespace heddle::test {
namespace {

using acme::directory_store;

std::string new_folder() {
  char name[] = "/tmp/heddle-acme-XXXXXX";
  if (::mkdtemp(name) == nullptr) std::abort();
  return name;
}

task<> saves_and_loads(std::string folder) {
  directory_store store(folder + "/deep/store/");
  EXPECT_FALSE((co_await store.load("ca.example/www.example.org")).has_value());
  co_await store.save("ca.example/www.example.org", "one");
  EXPECT_EQ(co_await store.load("ca.example/www.example.org"), "one");
  co_await store.save("ca.example/www.example.org", "two");
  EXPECT_EQ(co_await store.load("ca.example/www.example.org"), "two");
  for (const char* bad : {"", "/etc/passwd", "../x", "a/../../x", "A", "a b"}) {
    const auto got = co_await as_expected(store.load(bad));
    EXPECT_FALSE(got.has_value()) << bad;
  }
  acme::store_claim first = co_await store.claim("ca.example/www.example.org");
  EXPECT_TRUE(first);
  EXPECT_FALSE(co_await store.claim("ca.example/www.example.org"));
  EXPECT_TRUE(co_await store.claim("ca.example/other.example.org"));
  directory_store another(folder + "/deep/store");  // as another process has it
  const bool free = static_cast<bool>(co_await another.claim("ca.example/www.example.org"));
  EXPECT_EQ(free, runtime::here().io().simulated());
  first = nullptr;
  EXPECT_TRUE(co_await store.claim("ca.example/www.example.org"));
}

DRIVER_TEST(acme_store, "texts are kept by name, and a claim is for one process at a time") {
  const std::string folder = make.real() ? new_folder() : "/state";
  {
    runtime rt(make());
    rt.run(saves_and_loads(folder));
  }
  if (!make.real()) return;
  struct ::stat found{};
  const std::string file = folder + "/deep/store/ca.example/www.example.org.pem";
  ASSERT_EQ(::stat(file.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat((folder + "/deep/store").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  for (const auto& each : std::filesystem::directory_iterator(folder + "/deep/store/ca.example")) {
    const std::string name = each.path().filename();
    EXPECT_TRUE(name.ends_with(".pem") || name.ends_with(".lock")) << name;
  }
  std::filesystem::remove_all(folder);
}

task<bool> saved(directory_store& store, std::string text) {
  const auto done = co_await as_expected(store.save("a", std::move(text)));
  co_return done.has_value();
}

task<> fails_each_step(sim_driver& sim) {
  directory_store store("/state");
  co_await store.save("a", "old");
  for (const op_code step : {op_code::open, op_code::write, op_code::sync, op_code::rename}) {
    // The first open looks for the folder, and may fail.
    sim.fail_next(step, -EIO, step == op_code::open ? 2 : 1);
    EXPECT_FALSE(co_await saved(store, "new")) << static_cast<int>(step);
    EXPECT_EQ(co_await store.load("a"), "old") << static_cast<int>(step);
  }
  EXPECT_TRUE(co_await saved(store, "new"));
  sim.crash_disk();
  EXPECT_EQ(co_await store.load("a"), "new");
}

HEDDLE_TEST(acme_store, "a save that fails at any step leaves the old text") {
  auto made = std::make_unique<sim_driver>();
  sim_driver& sim = *made;
  runtime rt(std::move(made), {});
  rt.run(fails_each_step(sim));
  EXPECT_EQ(sim.open_descriptors(), 0u);
}

task<> crash_after(sim_driver& sim, nanoseconds span) {
  co_await sleep_for(span);
  sim.crash_disk();
}

/// Saves, and cuts the power at this moment of it. What is there then; "" for nothing.
task<std::string> crashed_at(sim_driver& sim, nanoseconds span) {
  directory_store store("/state");
  co_await store.save("a", "old");
  scope side;
  side.spawn(crash_after(sim, span));
  const bool done = co_await saved(store, "new");
  co_await side.join();
  const auto text = co_await store.load("a");
  EXPECT_TRUE(text == "old" || text == "new") << text.value_or("<nothing>") << span.count();
  if (done && text == "old") EXPECT_GT(span.count(), 0);
  co_return text.value_or("");
}

HEDDLE_TEST(acme_store, "a power failure at any moment leaves the old text or the new one") {
  int old = 0;
  int fresh = 0;
  for (int moment = 0; moment < 400; moment += 5) {
    sim_options options;
    options.seed = static_cast<std::uint64_t>(moment + 1);
    auto made = std::make_unique<sim_driver>(options);
    sim_driver& sim = *made;
    runtime rt(std::move(made), {});
    const std::string text = rt.run(crashed_at(sim, std::chrono::microseconds(moment)));
    ++(text == "old" ? old : fresh);
  }
  EXPECT_GT(old, 5);
  EXPECT_GT(fresh, 5);
}

}  // namespace
}  // namespace heddle::test

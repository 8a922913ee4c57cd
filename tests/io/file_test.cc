// SPDX-License-Identifier: MIT
// Files on every driver: places, whole files, replacement in one step.
#include "heddle/io/file.hh"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "folder.hh"
#include "heddle/heddle.hh"
#include "heddle/io/directory.hh"
#include "outcome.hh"
#include "support/drivers.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

task<> places(std::string path) {
  file f = co_await open_file(path, {.write = true, .create = true});
  EXPECT_EQ(co_await f.write_at(4, "after"), 5u);
  EXPECT_EQ(co_await f.write_at(0, "four"), 4u);
  char text[16];
  EXPECT_EQ(co_await f.read_at(0, text), 9u);
  EXPECT_EQ(std::string(text, 9), "fourafter");
  EXPECT_EQ(co_await f.read_at(9, text), 0u);
  EXPECT_EQ(co_await f.size(), 9u);
  const file_status known = co_await f.status();
  EXPECT_EQ(known.type, entry_type::file);
  EXPECT_EQ(known.mode & 0600, 0600u);
  EXPECT_EQ(known.link_count, 1u);
  co_await f.sync();
}

task<> large(std::string path) {
  std::string content(3'000'001, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 >> 5);
  co_await write_file(path, content);
  EXPECT_EQ(co_await read_file(path), content);
  const auto refused = co_await as_expected(read_file(path, 1000));
  EXPECT_EQ(error_of(refused), std::errc::file_too_large);
}

task<> replaced(std::string folder_path) {
  const std::string path = folder_path + "/settings";
  co_await write_file(path, "old", 0600);
  file reader = co_await open_file(path);
  co_await write_file(path, "new");
  EXPECT_EQ(co_await read_file(path), "new");
  EXPECT_EQ(co_await reader.read_all(), "old");
  directory d = co_await open_directory(folder_path);
  EXPECT_EQ((co_await d.list()).size(), 1u);
}

task<> failing(std::string folder_path) {
  const auto missing = co_await as_expected(open_file(folder_path + "/none"));
  EXPECT_EQ(error_of(missing), std::errc::no_such_file_or_directory);
  co_await make_directory(folder_path + "/taken");
  // A folder stands where the file should go: the new content must be gone again.
  const auto blocked = co_await as_expected(write_file(folder_path + "/taken", "x"));
  EXPECT_FALSE(blocked.has_value());
  directory d = co_await open_directory(folder_path);
  const auto names = co_await d.list();
  EXPECT_EQ(names.size(), 1u);
  EXPECT_EQ(names[0].name, "taken");
  try {
    co_await open_file(folder_path + "/none");
    ADD_FAILURE() << "opened what is not there";
  } catch (const failure& f) {
    EXPECT_NE(std::string(f.what()).find("/none"), std::string::npos) << f.what();
  }
}

/// Places that the system does not have, or gives another meaning: -1 is the cursor.
task<> impossible_places(std::string path) {
  const std::string before = "0123456789";
  co_await write_file(path, before);
  file f = co_await open_file(path, {.write = true});
  constexpr std::uint64_t first = std::uint64_t{1} << 63;
  for (const std::uint64_t at : {std::uint64_t{std::string::npos}, ~std::uint64_t{1}, first,
                                 first + 1, ~std::uint64_t{0} << 32}) {
    char text[4] = {};
    std::size_t count = 7;
    const auto read = co_await as_expected(f.read_at(at, text, count));
    EXPECT_EQ(error_of(read), std::errc::invalid_argument) << at;
    EXPECT_EQ(count, 0U);
    const auto wrote = co_await as_expected(f.write_at(at, "XY", count));
    EXPECT_EQ(error_of(wrote), std::errc::invalid_argument) << at;
    EXPECT_EQ(count, 0U);
    const auto nothing = co_await as_expected(f.write_at(at, ""));
    EXPECT_EQ(error_of(nothing), std::errc::invalid_argument) << at;
  }
  char text[4];
  EXPECT_EQ(co_await f.read_at(first - 1, text), 0U);  // the last place there is
  EXPECT_EQ(co_await f.read_at(first - 3, text), 0U);
  const auto beyond = co_await as_expected(f.write_at(first - 1, "XY"));
  EXPECT_FALSE(beyond.has_value());
  EXPECT_EQ(co_await read_file(path), before);
}

task<> after_close(std::string path) {
  file f = co_await open_file(path, {.write = true, .create = true});
  file copy = f;
  f.close();
  char text[4];
  const auto read = co_await as_expected(copy.read_at(0, text));
  EXPECT_EQ(error_of(read), std::errc::bad_file_descriptor);
  const auto size = co_await as_expected(copy.size());
  EXPECT_EQ(error_of(size), std::errc::bad_file_descriptor);
}

task<> many_at_once(std::string path) {
  file f = co_await open_file(path, {.write = true, .create = true});
  scope s;
  for (std::uint64_t i = 0; i < 64; ++i) {
    s.spawn(
        [](file to, std::uint64_t at) -> task<> {
          co_await to.write_at(at * 4, std::to_string(1000 + at));
        },
        f, i);
  }
  co_await s.join();
  const std::string all = co_await f.read_all();
  EXPECT_EQ(all.size(), 256u);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(all.substr(i * 4, 4), std::to_string(1000 + i));
}

task<> canceled_before(std::string path) {
  co_await write_file(path, "text");
  file f = co_await open_file(path);
  char text[4];
  cancel_source stop;
  stop.cancel();
  const auto read = co_await as_expected(with_cancel(stop, f.read_at(0, text)));
  EXPECT_EQ(error_of(read), std::errc::operation_canceled);
  EXPECT_EQ(co_await f.read_at(0, text), 4u);
}

task<> at_the_limit(std::string path) {
  co_await write_file(path, std::string(4096, 'x'));
  EXPECT_EQ((co_await read_file(path, 4096)).size(), 4096u);
  const auto one_less = co_await as_expected(read_file(path, 4095));
  EXPECT_EQ(error_of(one_less), std::errc::file_too_large);
}

/// What says that its size is 0 and has more than a limit: nobody may take a part for the whole.
task<> without_a_size() {
  for (const std::size_t limit : {1u, 7u, 8u, 4096u}) {
    const auto part = co_await as_expected(read_file("/proc/self/maps", limit));
    EXPECT_EQ(error_of(part), std::errc::file_too_large) << limit;
  }
  EXPECT_GT((co_await read_file("/proc/self/maps", 1 << 24)).size(), 4096u);
}

/// A named pipe keeps nobody waiting who opens it, and who reads it waits alone.
task<> named_pipes(std::string path) {
  EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto writing = co_await as_expected(open_file(path, {.write = true, .read = false}));
  EXPECT_EQ(error_of(writing), std::errc::no_such_device_or_address);
  const file reading = co_await open_file(path);
  const int writer = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  char text[4];
  const auto nothing = co_await as_expected(with_timeout(reading.read_at(0, text), 5ms));
  EXPECT_EQ(error_of(nothing), std::errc::timed_out);
  EXPECT_EQ(::write(writer, "text", 4), 4);
  EXPECT_EQ(co_await reading.read_at(0, text), 4u);
  ::close(writer);
}

/// Appending still appends, though opening changed the file's flags.
task<> appended(std::string path) {
  co_await write_file(path, "one");
  const file out = co_await open_file(path, {.write = true, .append = true});
  co_await out.write_at(0, std::string_view(" two"));
  EXPECT_EQ(co_await read_file(path, 100), "one two");
}

task<> with_a_zero_byte(std::string path) {
  co_await write_file(path, "text");
  const std::string hidden = path + std::string("\0.tmp", 5);
  EXPECT_EQ(error_of(co_await as_expected(remove_file(hidden))), std::errc::invalid_argument);
  EXPECT_EQ(error_of(co_await as_expected(rename_file(hidden, path))), std::errc::invalid_argument);
  EXPECT_EQ(error_of(co_await as_expected(rename_file(path, hidden))), std::errc::invalid_argument);
  EXPECT_EQ(error_of(co_await as_expected(make_directory(hidden))), std::errc::invalid_argument);
  EXPECT_EQ(co_await read_file(path, 100), "text");
}

void run_in_folder(std::unique_ptr<driver> d, task<> (*body)(std::string), const char* name) {
  const folder dir(*d);
  auto* sim = dynamic_cast<sim_driver*>(d.get());
  {
    runtime rt(std::move(d), {});
    rt.run(body(name == nullptr ? dir.path() : dir / name));
    if (sim != nullptr) {
      EXPECT_EQ(sim->open_descriptors(), 0u) << sim->trace_text();
    }
  }
}

}  // namespace

DRIVER_TEST(file, "transfers name their place and a short count is the end") {
  run_in_folder(make(), &places, "f");
}
DRIVER_TEST(file, "a whole file is written and read, within the limit") {
  run_in_folder(make(), &large, "f");
}
DRIVER_TEST(file, "what just fits a limit is whole, and what is longer is an error") {
  run_in_folder(make(), &at_the_limit, "f");
}
DRIVER_TEST(file, "what does not know its size is read to the end, or is an error") {
  auto d = make();
  if (d->simulated()) GTEST_SKIP() << "there is no /proc in a simulated world";
  run_plain(std::move(d), &without_a_size);
}
DRIVER_TEST(file, "a place that no file has is refused, and npos is not the cursor") {
  run_in_folder(make(), &impossible_places, "f");
}
DRIVER_TEST(file, "a named pipe without its other end keeps nobody waiting") {
  auto d = make();
  if (d->simulated()) GTEST_SKIP() << "there are no named pipes in a simulated world";
  run_in_folder(std::move(d), &named_pipes, "f");
}
DRIVER_TEST(file, "what is opened to append is appended to") {
  run_in_folder(make(), &appended, "f");
}
DRIVER_TEST(file, "a name with a zero byte is refused, and no other one is meant") {
  run_in_folder(make(), &with_a_zero_byte, "f");
}
DRIVER_TEST(file, "write_file replaces in one step and leaves nothing beside it") {
  run_in_folder(make(), &replaced, nullptr);
}
DRIVER_TEST(file, "failures name the path, and a failed replacement cleans up") {
  run_in_folder(make(), &failing, nullptr);
}
DRIVER_TEST(file, "F1 after close every copy fails with bad_file_descriptor") {
  run_in_folder(make(), &after_close, "f");
}
DRIVER_TEST(file, "any number of transfers go on at once") {
  run_in_folder(make(), &many_at_once, "f");
}
DRIVER_TEST(file, "in a cancelled context nothing starts") {
  run_in_folder(make(), &canceled_before, "f");
}

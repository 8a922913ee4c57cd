// SPDX-License-Identifier: MIT
// Files that many ask for at once are opened and read once; bodies that slow clients keep are
// counted and bounded. The root is opened in the real file system.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "heddle/core/combine.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/start.hh"
#include "heddle/web/static_files.hh"
#include "web/harness.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t page_bytes = 100'000;

/// A directory that goes with the test.
class served_folder {
 public:
  served_folder() {
    char name[] = "/tmp/heddle_static_XXXXXX";
    if (::mkdtemp(name) != nullptr) root_ = name;
    write("page.txt", std::string(page_bytes, 'p'));
  }
  served_folder(const served_folder&) = delete;
  ~served_folder() { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ + "/" + name) << text;
  }
  [[nodiscard]] const std::string& root() const noexcept { return root_; }

 private:
  std::string root_;
};

constexpr int crowd_size = 50;

/// Asks for the request's file as often as a crowd_size would, all before the first look has ended.
/// With `leaves`, the one that looks is cancelled meanwhile. Answers with what the others got.
task<http::response> ask_together(http::static_files& files, bool leaves, http::request& r) {
  cancel_source gone;
  std::vector<result<http::response>> got(crowd_size);
  rendezvous<int> done;
  start(with_cancel(gone, files.answer(r)), done.make_event(0, got[0]));
  for (int i = 1; i != crowd_size; ++i)
    start(files.answer(r), done.make_event(i, got[static_cast<std::size_t>(i)]));
  if (leaves) gone.cancel();
  std::string said;
  int of_200 = 0;
  for (int i = 0; i != crowd_size; ++i) {
    const int which = co_await done;
    const auto& each = got[static_cast<std::size_t>(which)];
    if (!each) {
      said += "cancelled " + std::to_string(which) + "; ";
    } else if (each->status() == 200 && each->length() == page_bytes) {
      ++of_200;
    } else {
      said += std::to_string(each->status()) + "; ";
    }
  }
  co_return http::response(200).text(said + std::to_string(of_200) + " whole\n");
}

struct expectation {
  std::string path;
  bool leaves;
  std::string said;
  std::uint64_t misses;
  std::uint64_t joined;
};

void together(const driver_maker& make, const served_folder& at_root, http::static_options options,
              const expectation& expected) {
  runtime rt(make(), one_worker());
  http::static_files files(at_root.root(), std::move(options));
  rt.run(with_server(
      [&files, &expected](http::request& r) { return ask_together(files, expected.leaves, r); }, {},
      [&](address at, http::server&) -> task<> {
        return [](address to, http::static_files& of, const expectation& e) -> task<> {
          const std::string answer = co_await ask(to, "GET " + e.path);
          EXPECT_EQ(body_of(answer), e.said);
          EXPECT_EQ(of.counters().misses, e.misses);
          EXPECT_EQ(of.counters().joined, e.joined);
        }(at, files, expected);
      }));
}

}  // namespace

DRIVER_TEST(static_shared, "a file that many ask for at once is opened and read once") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const served_folder here;
  together(make, here, {}, {"/page.txt", false, "50 whole\n", 1, crowd_size - 1});
}

DRIVER_TEST(static_shared, "when the one who looks is cancelled, the others get the file") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const served_folder here;
  // The next one looks, and the others join it; each has waited twice.
  together(make, here, {},
           {"/page.txt", true, "cancelled 0; 49 whole\n", 2, 2 * (crowd_size - 1) - 1});
}

DRIVER_TEST(static_shared, "what is too large to keep each one opens, side by side") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const served_folder here;
  http::static_options options;
  options.cached_file_bytes_max = page_bytes - 1;
  together(make, here, options, {"/page.txt", false, "50 whole\n", crowd_size, crowd_size - 1});
}

DRIVER_TEST(static_shared,
            "those that joined get the file even where nothing in memory is trusted") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const served_folder here;
  http::static_options options;
  options.trust = 0s;  // nothing that is known counts
  together(make, here, options, {"/page.txt", false, "50 whole\n", 1, crowd_size - 1});
}

DRIVER_TEST(static_shared, "those that joined get the file although the cache may have lost it") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const served_folder here;
  here.write("other.txt", std::string(page_bytes, 'o'));
  http::static_options options;
  options.cache_bytes_max = 1;  // the last one that came
  runtime rt(make(), one_worker());
  http::static_files files(here.root(), options);
  rt.run(with_server([&files](http::request& r) { return ask_together(files, false, r); }, {},
                     [](address at, http::server&) -> task<> {
                       auto [one, other] =
                           co_await all(ask(at, "GET /page.txt"), ask(at, "GET /other.txt"));
                       EXPECT_EQ(body_of(one), "50 whole\n");
                       EXPECT_EQ(body_of(other), "50 whole\n");
                     }));
}

DRIVER_TEST(static_shared, "a file that is not there is looked for once, and nobody remembers") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const served_folder here;
  std::string all_404;
  for (int i = 0; i != crowd_size; ++i) all_404 += "404; ";
  runtime rt(make(), one_worker());
  http::static_files files(here.root());
  rt.run(with_server([&files](http::request& r) { return ask_together(files, false, r); }, {},
                     [&](address at, http::server&) -> task<> {
                       return [](address to, const served_folder& s, http::static_files& of,
                                 std::string none) -> task<> {
                         const std::string before = co_await ask(to, "GET /late.txt");
                         EXPECT_EQ(body_of(before), none + "0 whole\n");
                         EXPECT_EQ(of.counters().misses, 1u);
                         s.write("late.txt", std::string(page_bytes, 'l'));
                         const std::string after = co_await ask(to, "GET /late.txt");
                         EXPECT_EQ(body_of(after), "50 whole\n");
                       }(at, here, files, all_404);
                     }));
}

namespace {

/// A client that asks and does not read is an answer that is not given up.
struct slow_readers {
  std::vector<http::response> answers;

  task<http::response> keep(http::static_files& files, http::request& r) {
    if (r.header("x-read") == "slowly") {
      answers.push_back(co_await files.answer(r));
      co_return http::response(200).text("kept\n");
    }
    co_return co_await files.answer(r);
  }
};

task<> outgrow(address at, http::static_files& files, slow_readers& slow) {
  for (int i = 0; i != 10; ++i)
    EXPECT_EQ(body_of(co_await ask(at, "GET /" + std::to_string(i), "X-Read: slowly\r\n")),
              "kept\n");
  EXPECT_LE(files.held_bytes(), 4 * page_bytes);
  EXPECT_GT(files.held_bytes(), 3 * page_bytes);
  EXPECT_EQ(files.counters().unkept, 6u);
  const std::string by_parts = co_await ask(at, "GET /9");
  EXPECT_EQ(body_of(by_parts), std::string(page_bytes, '9'));
  EXPECT_EQ(files.counters().unkept, 7u);
  const std::string again = co_await ask(at, "GET /3");  // still in the cache: nothing to load
  EXPECT_EQ(body_of(again), std::string(page_bytes, '3'));
  EXPECT_EQ(files.counters().hits, 1u);

  slow.answers.clear();
  EXPECT_LE(files.held_bytes(), 2 * page_bytes);
  const std::string cached = co_await ask(at, "GET /9");
  EXPECT_EQ(body_of(cached), std::string(page_bytes, '9'));
  EXPECT_EQ(files.counters().unkept, 7u);
}

}  // namespace

DRIVER_TEST(static_shared, "bodies that slow clients keep are bounded; others are sent in parts") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const served_folder here;
  for (char c = '0'; c <= '9'; ++c) here.write(std::string(1, c), std::string(page_bytes, c));
  http::static_options options;
  options.cache_bytes_max = 2 * page_bytes + 2000;
  options.held_bytes_max = 4 * page_bytes;
  options.trust = 60s;
  runtime rt(make(), one_worker());
  slow_readers slow;
  {
    http::static_files files(here.root(), options);
    rt.run(with_server([&](http::request& r) { return slow.keep(files, r); }, {},
                       [&](address at, http::server&) { return outgrow(at, files, slow); }));
  }
}

namespace {

task<> nothing_fits(address at, http::static_files& files) {
  const std::string whole =
      co_await ask(at, "GET /page.txt", "Range: bytes=0-9,20-29\r\n");  // a field one may ignore
  EXPECT_EQ(status_of(whole), "200");
  EXPECT_EQ(body_of(whole).size(), page_bytes);
  const std::string part = co_await ask(at, "GET /page.txt", "Range: bytes=0-9\r\n");
  EXPECT_EQ(body_of(part), "pppppppppp");
  EXPECT_EQ(status_of(co_await ask(at, "GET /")), "503");
  EXPECT_EQ(files.held_bytes(), 0u);
}

}  // namespace

DRIVER_TEST(static_shared, "without room for a body, files are sent whole and lists are refused") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const served_folder here;
  http::static_options options;
  options.held_bytes_max = 1;
  runtime rt(make(), one_worker());
  http::static_files files(here.root(), options);
  rt.run(with_server([&](http::request& r) { return files.answer(r); }, {},
                     [&](address at, http::server&) { return nothing_fits(at, files); }));
}

DRIVER_TEST(static_shared, "a body on its way may outlive the files it came from") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const served_folder here;
  runtime rt(make(), one_worker());
  slow_readers slow;
  auto files = std::make_unique<http::static_files>(here.root());
  rt.run(with_server([&](http::request& r) { return slow.keep(*files, r); }, {},
                     [&](address at, http::server&) -> task<> {
                       return [](address to, std::unique_ptr<http::static_files>& of,
                                 slow_readers& kept) -> task<> {
                         co_await ask(to, "GET /page.txt", "X-Read: slowly\r\n");
                         of.reset();
                         EXPECT_EQ(kept.answers.at(0).length(), page_bytes);
                         kept.answers.clear();
                       }(at, files, slow);
                     }));
}

namespace {

std::string varied(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i != size; ++i) text[i] = static_cast<char>('!' + (i * 7 + i / 251) % 94);
  return text;
}

/// Reads with pauses, so that the server meets a full socket many times.
task<std::string> read_slowly(address at, std::string path) {
  stream conn = co_await connect_to(at);
  const std::string asked = "GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  co_await conn.write(std::string_view(asked));
  std::string all;
  std::string part(40'000, '\0');
  for (;;) {
    const std::size_t got = co_await conn.read(part);
    all.append(part, 0, got);
    if (got < part.size()) co_return all;
    if (all.size() < 600'000) co_await sleep_for(1ms);
  }
}

task<> large_bodies(address at, http::server& web, const served_folder& here,
                    http::static_files& files) {
  const std::string text = varied(1'000'000);
  here.write("large.txt", text);
  EXPECT_TRUE(body_of(co_await ask(at, "GET /large.txt")) == text);
  EXPECT_EQ(files.held_bytes(), text.size());
  const std::uint64_t sent_before = web.counters().bytes;
  const auto [one, two] =
      co_await all(read_slowly(at, "/large.txt"), read_slowly(at, "/large.txt"));
  EXPECT_TRUE(body_of(one) == text);
  EXPECT_TRUE(body_of(two) == text);
  EXPECT_EQ(web.counters().bytes - sent_before, one.size() + two.size());
  const std::string part = co_await ask(at, "GET /large.txt", "Range: bytes=4095-704094\r\n");
  EXPECT_EQ(status_of(part), "206");
  EXPECT_TRUE(body_of(part) == text.substr(4095, 700'000));
  // The file changes: what is in memory is what it was, until it is looked at again.
  here.write("large.txt", "short");
  EXPECT_TRUE(body_of(co_await ask(at, "GET /large.txt")) == text);
  EXPECT_EQ(files.counters().misses, 1u);
  EXPECT_EQ(web.counters().errors, 0u);
  // Answers in a row, large and small.
  const std::string get = "GET /large.txt HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string head = "HEAD /large.txt HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string last = "GET /page.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const std::string answers = co_await talk(at, get + head + get + last);
  EXPECT_EQ(count_of(answers, "HTTP/1.1 200 OK"), 4u);
  EXPECT_EQ(count_of(answers, text), 2u);
  EXPECT_TRUE(answers.ends_with("\r\n\r\n" + std::string(page_bytes, 'p')));
}

/// Asks for a large file again and again, and reads nothing.
task<> never_read(address at, http::server& web) {
  stream conn = co_await connect_to(at);
  std::string requests;
  for (int i = 0; i != 40; ++i) requests += "GET /large.txt HTTP/1.1\r\nHost: x\r\n\r\n";
  co_await conn.write(std::string_view(requests));
  for (int i = 0; i != 2000 && web.counters().write_timeouts == 0; ++i) co_await sleep_for(5ms);
  EXPECT_EQ(web.counters().write_timeouts, 1u);
}

}  // namespace

DRIVER_TEST(static_shared, "large bodies arrive as they are, however slowly they are read") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const served_folder here;
  http::static_options options;
  options.trust = 60s;
  runtime rt(make(), one_worker());
  http::static_files files(here.root(), options);
  rt.run(with_server(
      [&](http::request& r) { return files.answer(r); }, {},
      [&](address at, http::server& web) { return large_bodies(at, web, here, files); }));
}

DRIVER_TEST(static_shared, "who does not read a large body is cut after a while") {
  if (!make.real()) GTEST_SKIP() << "the root is opened in the real file system";
  const served_folder here;
  here.write("large.txt", varied(1'000'000));
  http::server_options limits;
  limits.write_timeout = 50ms;
  runtime rt(make(), one_worker());
  http::static_files files(here.root());
  rt.run(with_server([&](http::request& r) { return files.answer(r); }, limits,
                     [](address at, http::server& web) { return never_read(at, web); }));
}

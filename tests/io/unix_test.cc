// SPDX-License-Identifier: MIT
// Unix sockets on every driver: paths, names without a folder, pairs, and mixed ways of reading.
#include "heddle/io/unix.hh"

#include <string>
#include <vector>

#include "folder.hh"
#include "heddle/heddle.hh"
#include "heddle/io/file.hh"
#include "outcome.hh"
#include "support/drivers.hh"
#include "support/wait_until.hh"

using namespace heddle;
using namespace heddle::test;
using namespace std::chrono_literals;

namespace {

task<> serve_one(unix_listener door) {
  unix_stream peer = co_await door.accept();
  while (received in = co_await peer.receive()) co_await peer.write(in.data());
}

task<> echo_at(std::string path) {
  unix_listener door = unix_listener::listen(path);
  scope s;
  s.spawn(serve_one(door));
  unix_stream conn = co_await unix_connect(path);
  co_await conn.write("ping");
  conn.shutdown_write();
  char text[16];
  EXPECT_EQ(co_await conn.read(text), 4u);
  EXPECT_EQ(std::string(text, 4), "ping");
  co_await s.join();
}

task<> say_hello(std::string path) {
  const unix_stream conn = co_await unix_connect(path);
  co_await conn.write("hi");
}

task<> crowded(std::string path) {
  unix_listener door = unix_listener::listen(path, {.backlog = 1, .accept_queue = 1});
  scope s;
  for (int i = 0; i < 12; ++i) s.spawn(say_hello(path));
  co_await sleep_for(20ms);  // by now the kernel's queue is full
  for (int i = 0; i < 12; ++i) {
    unix_stream peer = co_await door.accept();
    char text[2];
    EXPECT_EQ(co_await peer.read(text), 2u);
  }
  co_await s.join();
}

/// Longer than a connection by TCP would wait.
task<> crowded_for_long() {
  const std::string path = "door";
  unix_listener door = unix_listener::listen(path, {.backlog = 1, .accept_queue = 1});
  scope s;
  for (int i = 0; i < 12; ++i) s.spawn(say_hello(path));
  co_await sleep_for(300s);
  std::vector<unix_stream> peers;
  for (int i = 0; i < 12; ++i) peers.push_back(co_await door.accept());
  co_await s.join();
}

task<> left_behind(std::string path) {
  {
    const unix_listener first = unix_listener::listen(path);
  }
  EXPECT_THROW(static_cast<void>(unix_listener::listen(path)), failure);
  co_await remove_file(path);
  co_await echo_at(path);
  const auto nobody = co_await as_expected(unix_connect(path + ".none"));
  EXPECT_EQ(error_of(nobody), std::errc::no_such_file_or_directory);
  const auto too_long = co_await as_expected(unix_connect(std::string(108, 'x')));
  EXPECT_EQ(error_of(too_long), std::errc::filename_too_long);
}

task<> mixed_reads() {
  auto [left, right] = unix_pair();
  co_await left.write("abcdefgh");
  EXPECT_TRUE(co_await right.readable());
  char two[2];
  EXPECT_EQ(co_await right.read(two), 2u);
  EXPECT_EQ(std::string(two, 2), "ab");
  EXPECT_EQ(co_await right.read(two), 2u);
  EXPECT_EQ(std::string(two, 2), "cd");
  received rest = co_await right.receive();  // the block that is left, from where read() stopped
  EXPECT_EQ(rest.text(), "efgh");
  rest.release();
  EXPECT_TRUE(rest.empty());
  scope s;
  s.spawn(
      [](unix_stream to) -> task<> {
        co_await sleep_for(1ms);
        co_await to.write("123456");  // GCC 12 has no braced lists in a coroutine
      },
      left);
  char six[6];
  EXPECT_EQ(co_await right.read(six), 6u);
  EXPECT_EQ(std::string(six, 6), "123456");
  co_await s.join();
  left.close();
  EXPECT_FALSE(co_await right.readable());
  EXPECT_TRUE((co_await right.receive()).empty());
  EXPECT_EQ(co_await right.read(two), 0u);
}

task<> nothing_is_lost_by_cancelling() {
  auto [left, right] = unix_pair();
  for (int i = 0; i < 20; ++i) {
    const auto none = co_await as_expected(with_timeout(right.receive(), 100us));
    EXPECT_EQ(error_of(none), std::errc::timed_out);
    const std::string text = "message " + std::to_string(i);
    co_await left.write(text);
    received in = co_await right.receive();
    EXPECT_EQ(in.text(), text);
  }
}

task<> the_window_holds() {
  auto [left, right] = unix_pair({.receive_window = 2});
  EXPECT_FALSE((co_await as_expected(with_timeout(right.readable(), 1ms))).has_value());
  scope s;
  s.spawn(
      [](unix_stream from) -> task<> {
        const std::string text(1'000'000, 'w');
        co_await from.write(text);
        from.close();
      },
      left);
  left = {};
  co_await sleep_for(20ms);  // blocks pile up to the window, and the writer has to wait
  std::size_t total = 0;
  while (received in = co_await right.receive()) total += in.size();
  EXPECT_EQ(total, 1'000'000u);
  co_await s.join();
}

task<> writes_in_order() {
  auto [left, right] = unix_pair();
  scope s;
  for (int i = 0; i < 50; ++i) {
    s.spawn([](unix_stream to,
               char letter) -> task<> { co_await to.write(std::string(20'000, letter)); },
            left, static_cast<char>('A' + i));
  }
  std::string got(50 * 20'000, '\0');
  EXPECT_EQ(co_await right.read(got), got.size());
  co_await s.join();
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != static_cast<char>('A' + i / 20'000)) {
      ADD_FAILURE() << "byte " << i << " of another write";
      break;
    }
}

task<> waiters_leave_from_any_place() {
  auto [left, right] = unix_pair();
  char a[1], b[1], c[1];
  scope s;
  std::string order;
  const auto reader = [](unix_stream from, char* to, std::string& log,
                         nanoseconds limit) -> task<> {
    const auto n = co_await as_expected(with_timeout(from.read(std::span(to, 1)), limit));
    log += n ? *to : '-';
  };
  s.spawn(reader, right, a, std::ref(order), nanoseconds(20s));
  s.spawn(reader, right, b, std::ref(order), nanoseconds(1ms));
  s.spawn(reader, right, c, std::ref(order), nanoseconds(20s));
  EXPECT_TRUE(co_await wait_until([&] { return order == "-"; })) << order;
  co_await left.write("xy");
  co_await s.join();
  EXPECT_EQ(order, "-xy");
}

void run_in_folder(std::unique_ptr<driver> d, task<> (*body)(std::string)) {
  const folder dir(*d);
  auto* sim = dynamic_cast<sim_driver*>(d.get());
  runtime rt(std::move(d), {});
  rt.run(body(dir / "socket"));
  if (sim != nullptr) {
    EXPECT_EQ(sim->open_descriptors(), 0u) << sim->trace_text();
  }
}

}  // namespace

DRIVER_TEST(unix_socket, "a listener on a path takes connections") {
  run_in_folder(make(), &echo_at);
}
DRIVER_TEST(unix_socket, "a path that was left behind is in use until it is removed") {
  run_in_folder(make(), &left_behind);
}
DRIVER_TEST(unix_socket, "connecting waits while the listener's queue is full") {
  run_in_folder(make(), &crowded);
}
HEDDLE_TEST(unix_socket, "connecting waits for as long as the queue is full") {
  run_plain(std::make_unique<sim_driver>(), &crowded_for_long);
}
HEDDLE_TEST(unix_socket, "a name that begins with @ is in no folder") {
  runtime rt(make_driver("epoll", {}), {});
  rt.run(echo_at("@heddle-test-" + std::to_string(::getpid())));
}
DRIVER_TEST(stream, "read, receive and readable may be mixed") { run_plain(make(), &mixed_reads); }
DRIVER_TEST(stream, "cancelling a receive loses nothing") {
  run_plain(make(), &nothing_is_lost_by_cancelling);
}
DRIVER_TEST(stream, "a reader that is slow stops the sender") {
  run_plain(make(), &the_window_holds);
}
DRIVER_TEST(stream, "F3 writes complete in the order of the calls") {
  run_plain(make(), &writes_in_order);
}
DRIVER_TEST(stream, "F4 a reader leaves the middle of the line and the others go on") {
  run_plain(make(), &waiters_leave_from_any_place);
}

// SPDX-License-Identifier: MIT
// Streams over anything: a layer's bytes arrive in order whatever it does to them, cancelling and
// closing lose nothing that had arrived, and sources give streams as listeners do.
#include "heddle/io/layer.hh"

#include <cerrno>
#include <memory>
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/line_reader.hh"
#include "heddle/io/stream_source.hh"
#include "heddle/io/unix.hh"
#include "support/drivers.hh"
#include "support/resplit.hh"
#include "support/wait_until.hh"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using test::resplit;
using test::run_plain;

std::string pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return text;
}

/// Both ends of a pair, each in a layer.
std::pair<stream, stream> layered_pair(std::uint32_t seed) {
  auto [left, right] = unix_pair();
  return {make_stream(std::make_unique<resplit>(std::move(left), seed)),
          make_stream(std::make_unique<resplit>(std::move(right), seed + 1))};
}

task<> send(stream to, std::string text) {
  co_await to.write(byte_view(std::string_view(text)));
  to.shutdown_write();
}

task<> arrives() {
  for (const std::size_t size : {1u, 100u, 70'000u}) {
    auto [left, right] = layered_pair(static_cast<std::uint32_t>(size));
    const std::string text = pattern(size);
    scope s;
    s.spawn(send(left, text));
    s.spawn(send(right, text));
    std::string got(size, '\0');
    EXPECT_EQ(co_await right.read(got), size);
    EXPECT_TRUE(got == text);
    EXPECT_TRUE((co_await right.receive()).empty());
    std::string other;
    while (received in = co_await left.receive()) other += in.text();
    EXPECT_TRUE(other == text);
    EXPECT_EQ(left.number(), -1);
    co_await s.join();
  }
}

task<> reader_gives_up() {
  auto [left, right] = layered_pair(5);
  for (int i = 0; i < 20; ++i) {
    const auto late = co_await as_expected(with_timeout(right.receive(), 100us));
    EXPECT_FALSE(late.has_value());
  }
  scope s;
  s.spawn(send(left, pattern(5000)));
  std::string got;
  while (got.size() < 5000) {
    const auto in = co_await as_expected(with_timeout(right.receive(), 50us));
    if (in) got += in->text();
  }
  EXPECT_TRUE(got == pattern(5000));
  co_await s.join();
}

/// A layer whose push() never ends.
class stuck : public stream_layer {
 public:
  explicit stuck(bool& closed) : closed_(closed) {}
  task<received> pull() override {
    co_await sleep_for(1h);
    co_return received();
  }
  task<> push(chain) override { co_await sleep_for(1h); }
  void close() noexcept override { closed_ = true; }

 private:
  bool& closed_;
};

task<> ends_when_closed() {
  bool closed = false;
  stream s = make_stream(std::make_unique<stuck>(closed));
  scope tasks;
  std::error_code of_read, of_write;
  auto read_one = [](stream from, std::error_code& why) -> task<> {
    why = (co_await as_expected(from.receive())).error();
  };
  auto write_one = [](stream to, std::error_code& why) -> task<> {
    why = (co_await as_expected(to.write(std::string_view("hello")))).error();
  };
  tasks.spawn(read_one(s, of_read));
  tasks.spawn(write_one(s, of_write));
  co_await sleep_for(1ms);
  EXPECT_FALSE(closed);
  s.close();
  co_await tasks.join();
  EXPECT_EQ(of_read, std::errc::operation_canceled);
  EXPECT_EQ(of_write, std::errc::operation_canceled);
  EXPECT_FALSE(s.is_open());
  EXPECT_TRUE(co_await test::wait_until([&] { return closed; }));
  EXPECT_EQ((co_await as_expected(s.receive())).error(), std::errc::bad_file_descriptor);
}

task<> write_is_cancelled() {
  bool closed = false;
  stream s = make_stream(std::make_unique<stuck>(closed));
  const auto late = co_await as_expected(with_timeout(s.write(std::string_view("x")), 1ms));
  EXPECT_EQ(late.error(), std::errc::timed_out);
  s.close();
  EXPECT_TRUE(closed);
}

/// A layer that fails.
class broken : public stream_layer {
 public:
  task<received> pull() override {
    co_await yield();
    throw std::system_error(std::make_error_code(std::errc::protocol_error));
  }
  task<> push(chain) override {
    co_await yield();
    throw std::system_error(std::make_error_code(std::errc::broken_pipe));
  }
  void close() noexcept override {}
};

/// A layer that has nothing to do before bytes arrive below.
class idle : public stream_layer {
 public:
  idle(stream over, int& pulls) : inner_(std::move(over)), pulls_(pulls) {}
  task<received> pull() override {
    ++pulls_;
    co_return co_await inner_.receive();
  }
  task<> push(chain out) override { co_await inner_.write(std::move(out)); }
  stream* waits_for() noexcept override { return &inner_; }
  void close() noexcept override { inner_.close(); }

 private:
  stream inner_;
  int& pulls_;
};

task<> waits_below() {
  auto [left, right] = unix_pair();
  int pulls = 0;
  stream s = make_stream(std::make_unique<idle>(std::move(left), pulls));
  EXPECT_EQ((co_await as_expected(with_timeout(s.receive(), 1ms))).error(), std::errc::timed_out);
  EXPECT_EQ((co_await as_expected(with_timeout(s.readable(), 1ms))).error(), std::errc::timed_out);
  EXPECT_EQ(pulls, 0);
  co_await right.write(std::string_view("text"));
  EXPECT_TRUE(co_await s.readable());
  EXPECT_EQ((co_await s.receive()).text(), "text");
  EXPECT_EQ(pulls, 1);
  right.shutdown_write();
  EXPECT_TRUE((co_await s.receive()).empty());
}

task<> ends_a_wait_below() {
  auto [left, right] = unix_pair();
  int pulls = 0;
  stream s = make_stream(std::make_unique<idle>(std::move(left), pulls));
  scope tasks;
  std::error_code why;
  auto read_one = [](stream from, std::error_code& error) -> task<> {
    error = (co_await as_expected(from.receive())).error();
  };
  tasks.spawn(read_one(s, why));
  co_await sleep_for(1ms);
  s.close();
  co_await tasks.join();
  EXPECT_EQ(why, std::errc::operation_canceled);
  EXPECT_TRUE((co_await right.receive()).empty());  // the stream below is closed
}

task<> failures_reach_users() {
  stream s = make_stream(std::make_unique<broken>());
  EXPECT_EQ((co_await as_expected(s.receive())).error(), std::errc::protocol_error);
  EXPECT_EQ((co_await as_expected(s.receive())).error(), std::errc::protocol_error);
  EXPECT_EQ((co_await as_expected(s.write(std::string_view("x")))).error(), std::errc::broken_pipe);
}

/// A layer that takes all bytes that it is asked to try, and sends a few in each flush().
class lender : public stream_layer {
 public:
  explicit lender(stream over) : inner_(std::move(over)) {}
  task<received> pull() override { co_return co_await inner_.receive(); }
  task<> push(chain out) override {
    for (bool all_left = false; !all_left;) all_left = co_await flush();
    co_await inner_.write(std::move(out));
  }
  sent_now try_push(byte_view head, const piece& body) noexcept override {
    EXPECT_TRUE(held_.empty());  // or these bytes would overtake others
    held_.assign(head.text()).append(body.bytes().text());
    return {.bytes = held_.size(), .flush_due = true};
  }
  task<bool> flush() override {
    ++flushes;
    if (stuck) co_await sleep_for(1h);
    const std::string part = held_.substr(0, 3);
    co_await inner_.write(byte_view(part));
    held_.erase(0, part.size());
    co_return held_.empty();
  }
  void close() noexcept override { inner_.close(); }

  bool stuck = false;
  int flushes = 0;

 private:
  stream inner_;
  std::string held_;
};

task<> taken_bytes_are_flushed() {
  auto [left, right] = unix_pair();
  auto made = std::make_unique<lender>(std::move(left));
  lender& below = *made;
  stream s = make_stream(std::move(made));
  char got[16];
  EXPECT_FALSE(s.flush_due());
  co_await s.flush();  // nothing to do
  EXPECT_EQ(below.flushes, 0);

  EXPECT_FALSE(s.try_write(byte_view("12345")).complete(5));
  EXPECT_TRUE(s.flush_due());
  const sent_now refused = s.try_write(byte_view("overtaking"));
  EXPECT_EQ(refused.bytes, 0u);
  EXPECT_TRUE(refused.flush_due);
  EXPECT_FALSE(s.try_write(byte_view()).complete(0));  // nothing more, but not all has left
  co_await s.flush();
  EXPECT_FALSE(s.flush_due());
  EXPECT_EQ(below.flushes, 2);
  EXPECT_EQ(co_await right.read(byte_span(got).first(5)), 5u);
  EXPECT_EQ(std::string_view(got, 5), "12345");

  // One step at a time, so that a slow peer may have a deadline for each.
  EXPECT_EQ(s.try_write(byte_view("head"), piece::of_static("body")).bytes, 8u);
  EXPECT_EQ(co_await s.write_some(byte_view()), 0u);
  EXPECT_TRUE(s.flush_due());
  // The next write need not repeat the bytes that try_write() was given.
  EXPECT_EQ(co_await s.write(std::string_view("next")), 4u);
  EXPECT_FALSE(s.flush_due());
  EXPECT_EQ(co_await right.read(byte_span(got).first(12)), 12u);
  EXPECT_EQ(std::string_view(got, 12), "headbodynext");
  co_await s.writable();  // it waits for room and flushes nothing
}

task<> a_flush_may_fail() {
  auto [left, right] = unix_pair();
  auto made = std::make_unique<lender>(std::move(left));
  lender& below = *made;
  stream s = make_stream(std::move(made));
  EXPECT_TRUE(s.try_write(byte_view("12345")).flush_due);
  below.stuck = true;
  std::size_t count = 7;
  const auto late = co_await as_expected(with_timeout(s.write_some(byte_view(), count), 1ms));
  EXPECT_EQ(late.error(), std::errc::timed_out);
  EXPECT_EQ(count, 0u);
  EXPECT_TRUE(s.flush_due());  // the bytes are still there
  EXPECT_FALSE(s.is_cut());
  const auto cut = co_await as_expected(with_timeout(s.flush(), 1ms));
  EXPECT_EQ(cut.error(), std::errc::timed_out);
  EXPECT_TRUE(s.is_cut());  // a part of them may have left
  EXPECT_FALSE(s.flush_due());
  EXPECT_EQ((co_await as_expected(s.flush())).error(), std::errc::broken_pipe);
  EXPECT_EQ(s.try_write(byte_view("more")).bytes, 0u);
}

task<> no_bytes_beside_the_layer() {
  bool closed = false;
  stream s = make_stream(std::make_unique<stuck>(closed));
  EXPECT_EQ(s.number(), -1);
  EXPECT_TRUE(s.is_open());
  EXPECT_FALSE(s.sends_files());
  EXPECT_EQ(s.send_file_now({}, 0, 0, 10), -EOPNOTSUPP);
  EXPECT_EQ(s.try_write(std::string_view("x")).bytes, 0u);
  EXPECT_FALSE(s.peer());
  const auto detached = co_await as_expected(s.detach());  // its tasks run in this color
  EXPECT_FALSE(detached);
  if (!detached) {
    EXPECT_EQ(detached.error(), std::errc::operation_not_supported);
  }
}

/// The ends of pairs as connections.
class pairs : public stream_source {
 public:
  explicit pairs(std::vector<stream>& others) : others_(others) {}
  task<stream> next() override {
    if (others_.size() == 3) co_await sleep_for(1h);
    auto [left, right] = unix_pair();
    others_.push_back(std::move(right));
    co_return left;
  }
  void close() noexcept override { closed = true; }
  bool closed = false;

 private:
  std::vector<stream>& others_;
};

task<> gives_streams() {
  std::vector<stream> others;
  listener door = make_listener(std::make_unique<pairs>(others));
  for (int i = 0; i < 3; ++i) {
    stream conn = co_await door.accept();
    co_await conn.write(std::string_view("hi"));
    char got[2];
    EXPECT_EQ(co_await others.back().read(got), 2u);
  }
  EXPECT_EQ((co_await as_expected(with_timeout(door.accept(), 1ms))).error(), std::errc::timed_out);
  door.finish();
  EXPECT_EQ((co_await as_expected(door.accept())).error(), std::errc::operation_canceled);
  door.close();
  co_await sleep_for(1ms);
}

task<> rejected_after_close() {
  std::vector<stream> others;
  listener door = make_listener(std::make_unique<pairs>(others));
  scope s;
  std::error_code why;
  auto wait_for_one = [](listener from, std::vector<stream>& held,
                         std::error_code& error) -> task<> {
    for (;;) {
      auto conn = co_await as_expected(from.accept());
      if (!conn) {
        error = conn.error();
        co_return;
      }
      held.push_back(std::move(*conn));
    }
  };
  std::vector<stream> held;
  s.spawn(wait_for_one(door, held, why));
  EXPECT_TRUE(co_await test::wait_until([&] { return held.size() == 3; })) << held.size();
  door.close();
  co_await s.join();
  EXPECT_EQ(why, std::errc::operation_canceled);
}

DRIVER_TEST(layer, "bytes arrive in order, however a layer splits and delays them") {
  run_plain(make(), &arrives);
}
DRIVER_TEST(layer, "a reader that gives up loses nothing") { run_plain(make(), &reader_gives_up); }
DRIVER_TEST(layer, "closing ends a pull and a push, and then closes the layer") {
  run_plain(make(), &ends_when_closed);
}
DRIVER_TEST(layer, "a layer that waits for the stream below is pulled when bytes are there") {
  run_plain(make(), &waits_below);
}
DRIVER_TEST(layer, "closing ends a wait for the stream below") {
  run_plain(make(), &ends_a_wait_below);
}
DRIVER_TEST(layer, "a write past its deadline ends when its push has") {
  run_plain(make(), &write_is_cancelled);
}
DRIVER_TEST(layer, "what a layer throws reaches readers and writers") {
  run_plain(make(), &failures_reach_users);
}
DRIVER_TEST(layer, "bytes that a layer has taken leave with a flush, or before the next write") {
  run_plain(make(), &taken_bytes_are_flushed);
}
DRIVER_TEST(layer,
            "a flush that fails keeps its bytes if its caller counts, and else cuts the stream") {
  run_plain(make(), &a_flush_may_fail);
}
DRIVER_TEST(layer, "a layered stream has no number, and no file passes beside it") {
  run_plain(make(), &no_bytes_beside_the_layer);
}
DRIVER_TEST(stream_source,
            "a source gives streams as a listener does, and ends when it is finished") {
  run_plain(make(), &gives_streams);
}
DRIVER_TEST(stream_source, "closing ends an accept that waits") {
  run_plain(make(), &rejected_after_close);
}

}  // namespace
}  // namespace heddle

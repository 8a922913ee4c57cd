// SPDX-License-Identifier: MIT
// A TLS stream is a stream: bytes arrive in order whatever their sizes and however the stream below
// splits them; ends are told from cuts; deadlines, closing and half-closing work as everywhere.
#include "heddle/tls/stream.hh"

#include <memory>
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/layer.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"
#include "support/drivers.hh"
#include "support/resplit.hh"
#include "support/tls_files.hh"
#include "tls/settled.hh"

namespace heddle {
namespace {

using namespace std::chrono_literals;
using test::run_settled;
using test::tls_files;

struct ends {
  stream server;
  stream client;
};

task<> accept_into(stream over, tls::server_context site, stream& out) {
  out = co_await tls::accept(std::move(over), std::move(site));
}

tls::server_options plain_site() {
  return {.certificates = {tls_files::get().certificate("site")},
          .own_records = test::tests_own_records()};
}
tls::server_context plain_context() { return tls::server_context(plain_site()); }
tls::client_context plain_client() {
  return tls::client_context({.authorities = tls_files::get().authority()});
}

/// Both ends over these streams.
task<ends> shake(stream left, stream right, tls::server_context site, tls::client_context client) {
  ends both;
  scope s;
  s.spawn(accept_into(std::move(left), std::move(site), both.server));
  both.client = co_await tls::connect(std::move(right), "localhost", std::move(client));
  co_await s.join();
  co_return both;
}

task<ends> shake_plainly(tls::version oldest = tls::version::tls12) {
  auto [left, right] = unix_pair();
  tls::server_options site = plain_site();
  site.oldest = oldest;
  co_return co_await shake(left, right, tls::server_context(site), plain_client());
}

std::string sample_text(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 7 + i / 251) % 26);
  return text;
}

task<> send_all(stream to, std::string text) {
  co_await to.write(byte_view(std::string_view(text)));
  to.shutdown_write();
}

/// Sizes of both ways at once, with records of every kind of length.
task<> both_ways(ends both) {
  for (const std::size_t size : {1u, 2u, 100u, 4096u, 16383u, 16384u, 16385u, 70'000u, 300'000u}) {
    const std::string text = sample_text(size);
    scope s;
    auto write_one = [](stream to, const std::string& all) -> task<> {
      co_await to.write(byte_view(std::string_view(all)));
    };
    s.spawn(write_one(both.client, text));
    s.spawn(write_one(both.server, text));
    std::string got(size, '\0');
    EXPECT_EQ(co_await both.server.read(got), size);
    EXPECT_TRUE(got == text) << size;
    got.assign(size, '\0');
    EXPECT_EQ(co_await both.client.read(got), size);
    EXPECT_TRUE(got == text) << size;
    co_await s.join();
  }
}

task<> carries_bytes() { co_await both_ways(co_await shake_plainly()); }

task<> carries_bytes_12() {
  auto [left, right] = unix_pair();
  tls::server_options site = plain_site();
  site.newest = tls::version::tls12;
  ends both = co_await shake(left, right, tls::server_context(site), plain_client());
  EXPECT_EQ(tls::session_of(both.client)->protocol, "TLSv1.2");
  EXPECT_EQ(tls::session_of(both.server)->protocol, "TLSv1.2");
  co_await both_ways(std::move(both));
}

task<> carries_bytes_resplit() {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    auto [left, right] = unix_pair();
    co_await both_ways(
        co_await shake(make_stream(std::make_unique<test::resplit>(std::move(left), seed)),
                       make_stream(std::make_unique<test::resplit>(std::move(right), seed + 100)),
                       plain_context(), plain_client()));
  }
}

task<> says_the_end() {
  ends both = co_await shake_plainly();
  scope s;
  s.spawn(send_all(both.client, sample_text(5000)));
  std::string got;
  while (received in = co_await both.server.receive()) got += in.text();
  EXPECT_EQ(got.size(), 5000u);
  // The other direction is still open.
  s.spawn(send_all(both.server, "bye"));
  got.clear();
  while (received in = co_await both.client.receive()) got += in.text();
  EXPECT_EQ(got, "bye");
  co_await s.join();
}

/// A layer whose stream below can be cut by the test.
class cuttable : public stream_layer {
 public:
  cuttable(stream over, stream& handle) : inner_(std::move(over)) { handle = inner_; }
  task<received> pull() override { co_return co_await inner_.receive(); }
  task<> push(chain out) override { co_await inner_.write(std::move(out)); }
  void end_pushing() noexcept override { inner_.shutdown_write(); }
  void close() noexcept override { inner_.close(); }

 private:
  stream inner_;
};

task<> tells_a_cut() {
  auto [left, right] = unix_pair();
  stream below;
  ends both = co_await shake(left, make_stream(std::make_unique<cuttable>(std::move(right), below)),
                             plain_context(), plain_client());
  co_await both.client.write(std::string_view("half of it"));
  below.shutdown_write();
  std::string got;
  std::error_code why;
  for (;;) {
    auto in = co_await as_expected(both.server.receive());
    if (!in) why = in.error();
    if (!in || in->empty()) break;
    got += in->text();
  }
  EXPECT_EQ(got, "half of it");
  EXPECT_EQ(why, std::errc::connection_aborted);
  EXPECT_NE(tls::session_of(both.server)->trouble.find("close_notify"), std::string::npos);
}

task<> closing_says_the_end() {
  ends both = co_await shake_plainly();
  co_await both.client.write(std::string_view("all of it"));
  both.client.close();
  char got[9];
  EXPECT_EQ(co_await both.server.read(got), 9u);
  EXPECT_TRUE((co_await both.server.receive()).empty());
}

/// try_write() and write() mixed, against a reader that comes late.
task<> nothing_is_lost_by_trying() {
  ends both = co_await shake_plainly();
  const std::string text = sample_text(3'000'000);
  scope s;
  auto writer = [](stream to, const std::string& all) -> task<> {
    std::size_t at = 0;
    for (std::size_t step = 1; at < all.size(); step = step * 3 % 200'003 + 1) {
      const std::size_t size = std::min(step, all.size() - at);
      const sent_now sent =
          to.try_write(byte_view(all.data() + at, size / 3),
                       piece::of_static(byte_view(all.data() + at + size / 3, size - size / 3)));
      at += sent.bytes;
      EXPECT_EQ(to.flush_due(), sent.flush_due);
      if (!sent.complete(size))
        at += co_await to.write(byte_view(all.data() + at, size - sent.bytes));
    }
    to.shutdown_write();
  };
  s.spawn(writer(both.server, text));
  co_await sleep_for(5ms);
  std::string got;
  while (received in = co_await both.client.receive()) got += in.text();
  EXPECT_EQ(got.size(), text.size());
  EXPECT_TRUE(got == text);
  co_await s.join();
}

/// A try that cannot send everything takes whole records and says so; then any bytes may follow.
task<> other_bytes_follow() {
  ends both = co_await shake_plainly();
  const std::string text = sample_text(100'000);
  std::string expected;
  sent_now last;
  do {
    last = both.server.try_write(byte_view(text));
    expected += text.substr(0, last.bytes);
  } while (last.complete(text.size()));
  EXPECT_TRUE(last.flush_due);
  EXPECT_TRUE(both.server.flush_due());
  const sent_now again = both.server.try_write(byte_view("overtaking"));
  EXPECT_EQ(again.bytes, 0u);
  EXPECT_TRUE(again.flush_due);
  // The reader takes nothing, so a flush does not end, and nothing is lost.
  std::size_t none = 0;
  const auto late =
      co_await as_expected(with_timeout(both.server.write_some(byte_view(), none), 1ms));
  if (!late) EXPECT_EQ(late.error(), std::errc::timed_out);
  scope s;
  s.spawn([](stream from, std::string want) -> task<> {
    std::string got;
    while (received in = co_await from.receive()) got += in.text();
    EXPECT_EQ(got.size(), want.size());
    EXPECT_TRUE(got == want);
  }(both.client, expected + "others"));
  co_await both.server.flush();
  EXPECT_FALSE(both.server.flush_due());
  EXPECT_EQ(co_await both.server.write(std::string_view("others")), 6u);
  both.server.shutdown_write();
  co_await s.join();
}

task<> reader_keeps_its_deadline() {
  ends both = co_await shake_plainly();
  for (int i = 0; i < 20; ++i) {
    const auto late = co_await as_expected(with_timeout(both.server.receive(), 100us));
    EXPECT_FALSE(late.has_value());
  }
  scope s;
  s.spawn(send_all(both.client, sample_text(50'000)));
  std::string got;
  while (got.size() < 50'000) {
    const auto in = co_await as_expected(with_timeout(both.server.receive(), 50us));
    if (in) got += in->text();
  }
  EXPECT_TRUE(got == sample_text(50'000));
  co_await s.join();
}

task<> writer_waits_for_its_reader() {
  ends both = co_await shake_plainly();
  const std::string text = sample_text(4'000'000);
  const auto late =
      co_await as_expected(with_timeout(both.server.write(byte_view(std::string_view(text))), 5ms));
  EXPECT_EQ(late.error(), std::errc::timed_out);
}

task<> closing_ends_waits() {
  ends both = co_await shake_plainly();
  scope s;
  std::error_code why;
  auto read_one = [](stream from, std::error_code& error) -> task<> {
    error = (co_await as_expected(from.receive())).error();
  };
  s.spawn(read_one(both.server, why));
  co_await sleep_for(1ms);
  both.server.close();
  co_await s.join();
  EXPECT_EQ(why, std::errc::operation_canceled);
}

task<> a_silent_peer_is_given_up() {
  auto [left, right] = unix_pair();
  tls::server_options site = plain_site();
  site.bounds.handshake_timeout = 10ms;
  const auto got = co_await as_expected(tls::accept(left, tls::server_context(std::move(site))));
  EXPECT_EQ(got.error(), std::errc::timed_out);
  EXPECT_FALSE(left.is_open());
}

task<> plain_text_is_refused() {
  auto [left, right] = unix_pair();
  co_await right.write(std::string_view("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  try {
    static_cast<void>(co_await tls::accept(left, plain_context()));
    ADD_FAILURE();
  } catch (const failure& e) {
    EXPECT_EQ(e.code(), std::errc::protocol_error);
    EXPECT_NE(std::string(e.what()).find("https://"), std::string::npos) << e.what();
  }
}

task<> a_long_handshake_is_refused() {
  auto [left, right] = unix_pair();
  // Records of a handshake that never ends: a client hello in pieces of one byte.
  tls::server_options site = plain_site();
  site.bounds.handshake_bytes_max = 4096;
  scope s;
  auto flood = [](stream to) -> task<> {
    std::string records("\x16\x03\x01\x00\x04\x01\x00\xff\xff", 9);
    for (int i = 0; i < 2000; ++i) records += std::string("\x16\x03\x03\x00\x01\x03", 6);
    static_cast<void>(co_await as_expected(to.write(byte_view(std::string_view(records)))));
  };
  s.spawn(flood(right));
  const auto got = co_await as_expected(tls::accept(left, tls::server_context(std::move(site))));
  EXPECT_EQ(got.error(), std::errc::protocol_error);
  co_await s.join();
}

task<> knows_what_was_agreed() {
  ends both = co_await shake_plainly(tls::version::tls13);
  for (const stream& each : {both.client, both.server}) {
    const auto agreed = tls::session_of(each);
    EXPECT_EQ(agreed->protocol, "TLSv1.3");
    EXPECT_FALSE(agreed->cipher.empty());
    EXPECT_FALSE(agreed->group.empty());
    EXPECT_EQ(agreed->server_name, "localhost");
    EXPECT_TRUE(agreed->trouble.empty());
  }
  EXPECT_NE(tls::session_of(both.client)->peer.find("localhost"), std::string::npos);
  auto [left, right] = unix_pair();
  EXPECT_FALSE(tls::session_of(left));
}

/// A listener gives connections before their handshakes, so that a silent one is no other's matter.
task<> listens() {
  tcp_listener door = tcp_listener::listen(address::loopback(0));
  const address at = door.local();
  listener secure = tls::listen(door, plain_context());
  stream silent = co_await tcp_connect(at);
  stream first = co_await secure.accept();
  scope s;
  auto client = [](address to) -> task<> {
    stream conn = co_await tls::connect(co_await tcp_connect(to), "localhost", plain_client());
    co_await conn.write(std::string_view("ping"));
    char got[4];
    EXPECT_EQ(co_await conn.read(got), 4u);
  };
  s.spawn(client(at));
  stream second = co_await secure.accept();
  char got[4];
  EXPECT_EQ(co_await second.read(got), 4u);
  co_await second.write(std::string_view("pong"));
  EXPECT_TRUE(second.peer());
  co_await s.join();
  secure.close();
}

/// A writer that goes on from `count` repeats and loses nothing, as with every other stream.
task<> a_cut_write_counts_what_it_sealed() {
  ends both = co_await shake_plainly();
  const std::string text = sample_text(1'500'000);
  auto sends = [&]() -> task<> {
    for (std::size_t at = 0; at < text.size();) {
      std::size_t count = 0;
      const auto wrote = co_await as_expected(with_timeout(
          both.client.write(byte_view(text.data() + at, text.size() - at), count), 2ms));
      at += count;
      if (!wrote && wrote.error() != std::errc::timed_out) co_return;
    }
    both.client.close();
  };
  std::string got;
  auto takes = [&]() -> task<> {
    while (received in = co_await both.server.receive()) {
      got += in.text();
      if (got.size() < 400'000) co_await sleep_for(1ms);
      if (got.size() > text.size()) break;
    }
    both.server.close();
  };
  static_cast<void>(co_await as_expected(all(sends(), takes())));
  EXPECT_TRUE(got == text) << got.size() << " bytes of " << text.size();
}

DRIVER_TEST(tls_stream, "bytes of all sizes arrive in both directions") {
  run_settled(make(), &carries_bytes);
}
DRIVER_TEST(tls_stream, "they do so with TLS 1.2") { run_settled(make(), &carries_bytes_12); }
DRIVER_TEST(tls_stream, "bytes arrive however the stream below splits and delays them") {
  run_settled(make(), &carries_bytes_resplit);
}
DRIVER_TEST(tls_stream, "the end of one direction leaves the other open") {
  run_settled(make(), &says_the_end);
}
DRIVER_TEST(tls_stream, "a connection that is cut off is no end") {
  run_settled(make(), &tells_a_cut);
}
DRIVER_TEST(tls_stream, "closing announces the end behind what was written") {
  run_settled(make(), &closing_says_the_end);
}
DRIVER_TEST(tls_stream, "try_write and write lose and repeat nothing") {
  run_settled(make(), &nothing_is_lost_by_trying);
}
DRIVER_TEST(tls_stream, "any bytes may follow those that try_write took") {
  run_settled(make(), &other_bytes_follow);
}
DRIVER_TEST(tls_stream, "a reader that gives up loses nothing") {
  run_settled(make(), &reader_keeps_its_deadline);
}
DRIVER_TEST(tls_stream, "a write waits until its bytes can leave") {
  run_settled(make(), &writer_waits_for_its_reader);
}
DRIVER_TEST(tls_stream, "a write that is cut short counts what it has sealed") {
  run_settled(make(), &a_cut_write_counts_what_it_sealed);
}
DRIVER_TEST(tls_stream, "closing ends what waits") { run_settled(make(), &closing_ends_waits); }
DRIVER_TEST(tls_stream, "a peer that says nothing is given up") {
  run_settled(make(), &a_silent_peer_is_given_up);
}
DRIVER_TEST(tls_stream, "a peer that speaks plain HTTP is told apart") {
  run_settled(make(), &plain_text_is_refused);
}
DRIVER_TEST(tls_stream, "a handshake of too many bytes is refused") {
  run_settled(make(), &a_long_handshake_is_refused);
}
DRIVER_TEST(tls_stream, "a stream knows what was agreed on") {
  run_settled(make(), &knows_what_was_agreed);
}
DRIVER_TEST(tls_stream, "a listener's connections shake hands on their own") {
  run_settled(make(), &listens);
}

}  // namespace
}  // namespace heddle

// SPDX-License-Identifier: MIT
// Descriptors that go from color to color. Programs drawn from a seed make streams, connections,
// listeners, datagram sockets, pipes, files and timers in one color and use them in another, under
// time limits that end them anywhere; half of the first colors keep a copy. A sanitizer sees a use
// of what was freed; here the test sees what stays open and what hangs. Then the rules one by one.
#include <dirent.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "folder.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/file.hh"
#include "heddle/io/pipe.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/udp.hh"
#include "heddle/io/unix.hh"
#include "support/drivers.hh"
#include "support/reporting_runtime.hh"
#include "support/wait_until.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

struct dice {
  std::uint64_t state;
  [[nodiscard]] unsigned below(unsigned n) {
    state = state * 6364136223846793005 + 1442695040888963407;
    return static_cast<unsigned>((state >> 33) % n);
  }
};

/// What one activity of the drawn program does.
struct errand {
  unsigned kind = 0;
  color user;           ///< the color that uses what the first one made
  bool keeps = false;   ///< the first color keeps a copy until the user has ended
  bool closes = false;  ///< the first color closes what it kept, while the user is at it
  unsigned rounds = 1;
  std::string path;
};

task<> echo_until_end(stream s) {
  while (received in = co_await s.receive()) co_await s.write(in.text());
}

task<> exchange_with(stream s, unsigned rounds) {
  char back[4];
  for (unsigned i = 0; i != rounds; ++i) {
    co_await s.write(std::string_view("abcd"));
    if (co_await s.read(back) != sizeof back) co_return;
  }
  s.close();
}

/// Gives `moved` to use(moved) in the user's color, and does own() beside it here.
template <class Moved, class Use, class Own>
task<> hand_over(const errand& e, Moved moved, Use use, Own own) {
  co_await with_scope(
      [](scope& s, const errand& what, Moved& held, Use& there, Own& here) -> task<> {
        if (what.keeps) {
          s.spawn(what.user, there(held));
          co_await here();
          if (what.closes) held.close();
        } else {
          s.spawn(what.user, there(std::move(held)));
          co_await here();
        }
      },
      std::cref(e), std::move(moved), std::ref(use), std::ref(own));
}

task<> accept_some(tcp_listener on, unsigned count) {
  for (unsigned i = 0; i != count; ++i) {
    tcp_stream conn = co_await on.accept();
    char one[1];
    if (co_await conn.read_some(one) != 0) co_await conn.write(std::string_view("y"));
  }
  on.finish();
}

/// Ends when the listener's user has accepted: the system connects before that, and a color that
/// closes a listener of another must know of its first use.
task<> connect_some(address to, unsigned count) {
  char one[1];
  for (unsigned i = 0; i != count; ++i) {
    const tcp_stream conn = co_await tcp_connect(to);
    co_await conn.write(std::string_view("x"));
    static_cast<void>(co_await conn.read_some(one));
  }
}

task<> take_datagrams(udp_socket from, unsigned count) {
  char text[8];
  for (unsigned i = 0; i != count; ++i) static_cast<void>(co_await from.receive_from(text));
}

task<> send_datagrams(udp_socket from, address to, unsigned count) {
  for (unsigned i = 0; i != count; ++i) {
    co_await from.send_to(to, std::string_view("ping"));
    co_await sleep_for(20us);
  }
}

task<> read_to_end(pipe_reader from) {
  char text[8];
  while (co_await from.read_some(text) != 0) {
  }
}

task<> write_some(pipe_writer to, unsigned count) {
  for (unsigned i = 0; i != count; ++i) co_await to.write(std::string_view("pipe"));
  to.close();
}

task<> rewrite(file f, unsigned count) {
  char text[16];
  for (unsigned i = 0; i != count; ++i) {
    co_await f.write_at(i * 8, std::string_view("contents"));
    static_cast<void>(co_await f.read_at(0, text));
  }
}

task<> nap_in(color c, unsigned count) {
  co_await enter(c);
  for (unsigned i = 0; i != count; ++i) {
    rendezvous<> r;
    timer(30us, r.make_event());
    co_await r;
    co_await sleep_for(10us);
  }
}

/// Moves one end; the other exchanges bytes with it.
template <class S>
task<> move_stream(errand e, S moved, S kept) {
  auto use = [](S s) { return echo_until_end(std::move(s)); };
  auto own = [from = std::move(kept), n = e.rounds] { return exchange_with(from, n); };
  co_await hand_over(e, std::move(moved), use, own);
}

task<> run_errand(errand e) {
  const unsigned n = e.rounds;
  switch (e.kind) {  // the closures have names: GCC 12 would destroy a temporary one twice
    case 0: {
      auto [a, b] = unix_pair();
      co_await move_stream(e, std::move(b), std::move(a));
      break;
    }
    case 1: {
      tcp_listener on = tcp_listener::listen(address::loopback(0));
      tcp_stream a = co_await tcp_connect(on.local());
      tcp_stream b = co_await on.accept();
      co_await move_stream(e, std::move(b), std::move(a));
      break;
    }
    case 2: {
      tcp_listener on = tcp_listener::listen(address::loopback(0));
      const address at = on.local();
      auto use = [n](tcp_listener l) { return accept_some(std::move(l), n); };
      auto own = [at, n] { return connect_some(at, n); };
      co_await hand_over(e, std::move(on), use, own);
      break;
    }
    case 3: {
      udp_socket to = udp_socket::bind(address::loopback(0));
      udp_socket from = udp_socket::bind(address::loopback(0));
      const address at = to.local();
      e.closes = false;  // the driver does nothing ahead of its users, so their color closes it
      auto use = [n](udp_socket s) { return take_datagrams(std::move(s), n); };
      auto own = [from, at, n] { return send_datagrams(from, at, 2 * n); };
      co_await hand_over(e, std::move(to), use, own);
      break;
    }
    case 4: {
      pipe_pair p = make_pipe();
      e.closes = false;
      auto use = [](pipe_reader r) { return read_to_end(std::move(r)); };
      auto own = [to = std::move(p.writer), n] { return write_some(to, n); };
      co_await hand_over(e, std::move(p.reader), use, own);
      break;
    }
    case 5: {
      file f = co_await open_file(e.path, {.write = true, .create = true});
      e.closes = false;
      auto use = [n](file g) { return rewrite(std::move(g), n); };
      auto own = [] { return nap_in(color(1), 1); };
      co_await hand_over(e, std::move(f), use, own);
      break;
    }
    default:
      co_await nap_in(e.user, n);
  }
}

task<> limited(errand e, nanoseconds limit) {
  const auto ended = co_await as_expected(with_timeout(run_errand(std::move(e)), limit));
  if (ended) co_return;
  const bool expected =
      ended.error() == std::errc::timed_out || ended.error() == std::errc::operation_canceled ||
      ended.error() == std::errc::bad_file_descriptor ||
      ended.error() == std::errc::connection_reset ||
      ended.error() == std::errc::connection_refused || ended.error() == std::errc::broken_pipe;
  EXPECT_TRUE(expected) << ended.error().message();
}

task<> drawn_program(std::uint64_t seed, std::string path) {
  dice d{seed};
  scope s;
  for (unsigned i = 0; i != 80; ++i) {
    errand e;
    constexpr unsigned kinds[] = {0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6};
    e.kind = seed % 3 != 0 ? 0 : kinds[d.below(std::size(kinds))];  // mostly what ends oftenest
    e.user = color(d.below(6));
    e.keeps = d.below(4) != 0;
    e.closes = d.below(6) == 0;
    e.rounds = 1 + d.below(20);
    e.path = path + std::to_string(i % 8);
    s.spawn(color(d.below(7)), limited(std::move(e), nanoseconds(20us) * d.below(40)));
  }
  co_await s.join();
}

std::ptrdiff_t open_now() {
  std::ptrdiff_t count = 0;
  if (DIR* const all = ::opendir("/proc/self/fd")) {
    while (::readdir(all) != nullptr) ++count;
    ::closedir(all);
  }
  return count;
}

}  // namespace

DRIVER_TEST(moves, "what moves between colors before its first use ends well under time limits") {
  for (const std::size_t workers : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
    for (const bool stealing : {true, false}) {
      for (std::uint64_t seed = 1; seed != 16; ++seed) {
        SCOPED_TRACE("workers " + std::to_string(workers) + ", stealing " +
                     std::to_string(stealing) + ", seed " + std::to_string(seed));
        const std::ptrdiff_t open_before = open_now();
        {
          runtime_options options;
          options.workers = workers;
          options.stealing = stealing;
          options.report = [](const diagnostic& r) { ADD_FAILURE() << to_string(r); };
          auto d = make();
          const folder at(*d);
          auto* const sim = dynamic_cast<sim_driver*>(d.get());
          runtime rt(std::move(d), std::move(options));
          rt.run(drawn_program(seed, at / "file"));
          EXPECT_EQ(rt.drain(), 0U);
          if (sim != nullptr) {
            EXPECT_EQ(sim->open_descriptors(), 0U);
          }
        }
        EXPECT_EQ(open_now(), open_before);
      }
    }
  }
}

namespace {

struct seen_end {
  std::uint32_t color = no_color;
  std::error_code error;
};

task<> read_in(color c, unix_stream s, seen_end& seen, std::atomic<bool>& reads) {
  co_await enter(c);
  reads = true;
  const auto got = co_await as_expected(s.receive());
  seen.color = worker::running().color;
  if (!got) seen.error = got.error();
}

/// Until what runs in that color now has come to its wait.
task<> visit_once(color c) { co_await enter(c); }

task<> close_from_another(seen_end& seen) {
  auto [a, b] = unix_pair();
  std::atomic<bool> reads = false;
  scope s;
  s.spawn(read_in(color(5), b, seen, reads));
  EXPECT_TRUE(co_await wait_until([&] { return reads.load(); }));
  co_await visit_once(color(5));
  b.close();
  co_await s.join();
  EXPECT_FALSE(b.is_open());
}

task<> use_in_two_colors(seen_end& seen) {
  auto [a, b] = unix_pair();
  std::atomic<bool> reads = false;
  scope s;
  s.spawn(read_in(color(5), b, seen, reads));
  EXPECT_TRUE(co_await wait_until([&] { return reads.load(); }));
  co_await visit_once(color(5));
  char text[4];
  const auto got = co_await as_expected(b.read_some(text));
  EXPECT_FALSE(got);
  if (!got) {
    EXPECT_EQ(got.error(), std::errc::device_or_resource_busy);
  }
  EXPECT_FALSE(b.take());
  co_await a.write(std::string_view("x"));
  co_await s.join();
}

}  // namespace

DRIVER_TEST(moves, "a stream that another color reads is closed there, and its reader ends there") {
  for (const std::size_t workers : {std::size_t{1}, std::size_t{2}}) {
    runtime_options options;
    options.workers = workers;
    seen_end seen;
    runtime rt(make(), std::move(options));
    rt.run(close_from_another(seen));
    EXPECT_EQ(seen.color, 5U);
    EXPECT_EQ(seen.error, std::errc::operation_canceled);
  }
}

DRIVER_TEST(moves, "a stream that was not detached is refused in a second color, and reported") {
  reporting_runtime v(make);
  seen_end seen;
  v.rt.run(use_in_two_colors(seen));
  EXPECT_FALSE(seen.error);
  ASSERT_EQ(v.reports.size(), 1U);
  EXPECT_EQ(v.reports.front().kind, diagnostic_kind::wrong_color);
  EXPECT_NE(to_string(v.reports.front()).find("detach()"), std::string::npos);
}

}  // namespace heddle::test

// SPDX-License-Identifier: MIT
// A runtime's tcp_source: connections as ends of socket pairs, from any color, and the programs
// that lack the room that makes one.
#include "heddle/io/detail/runtime_tcp.hh"

#include <cstdlib>
#include <string>

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "support/drivers.hh"
#include "support/wait_until.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;
using heddle::detail::owned_number;
using heddle::detail::runtime_tcp;

/// A source over sockets that notes the color of its calls.
struct noting_source final : tcp_source {
  static inline std::uint32_t listened_in = no_color, connected_in = no_color;
  static inline int settled_calls = 0;

  opened_door listen(const address& on, const listen_options& options) override {
    listened_in = worker::here().color;
    tcp_listener made = tcp_listener::listen(on, options);
    const address at = made.local();
    return {std::move(made), at};
  }
  task<stream> connect(address to) override {
    connected_in = worker::here().color;
    return [](address a) -> task<stream> { co_return co_await tcp_connect(a); }(to);
  }
  task<> settled() override {
    ++settled_calls;
    co_return;
  }
};

runtime_options with_source() {
  runtime_options o;
  o.tcp = [] { return std::make_unique<noting_source>(); };
  return o;
}

tcp_stream stream_at(owned_number end) {
  tcp_stream made(end.get());
  static_cast<void>(end.release());
  return made;
}

std::string long_text() {
  std::string text;
  for (int i = 0; i != 40'000; ++i) text += std::to_string(i) + ",";
  return text;
}

/// Sends back what comes until the end of the stream.
task<> send_back(tcp_stream s) {
  for (;;) {
    const received in = co_await s.receive();
    if (in.empty()) break;
    co_await s.write(in.data());
  }
  s.shutdown_write();
}

task<> accept_elsewhere(const listener& door, std::uint32_t home) {
  co_await enter(color(7));
  co_await send_back(stream_at(co_await runtime_tcp::accept(door, home)));
}

task<std::string> ask_elsewhere(const runtime_tcp& net, address to, std::string text) {
  co_await enter(color(8));
  const tcp_stream s = stream_at(co_await net.connect(to));
  scope writing;
  writing.spawn([](tcp_stream out, const std::string& all) -> task<> {
    co_await out.write(byte_view(std::string_view(all)));
    out.shutdown_write();
  }(s, text));
  std::string got(text.size() + 1, '\0');
  const std::size_t n = co_await s.read(got);
  got.resize(n);
  co_await writing.join();
  co_return got;
}

DRIVER_TEST(runtime_tcp,
            "bytes pass both ways, and each end of writing, for tasks of other colors") {
  runtime rt(make(), with_source());
  rt.run([]() -> task<> {
    const runtime_tcp net;
    EXPECT_EQ(runtime_tcp::here(), &net);
    const opened_door opened = net.listen(address::loopback(0));
    const std::string text = long_text();
    scope side;
    side.spawn(accept_elsewhere(opened.door, net.home()));
    const std::string got = co_await with_timeout(ask_elsewhere(net, opened.at, text), 20s);
    EXPECT_EQ(got == text, true);
    co_await side.join();
    EXPECT_EQ(noting_source::listened_in, net.home());
    EXPECT_EQ(noting_source::connected_in, net.home());
    co_await net.settled();
    EXPECT_GT(noting_source::settled_calls, 0);
  });
}

DRIVER_TEST(runtime_tcp, "the peer learns when the program closes its end without reading all") {
  runtime rt(make(), with_source());
  rt.run([]() -> task<> {
    const runtime_tcp net;
    const opened_door opened = net.listen(address::loopback(0));
    const tcp_stream peer = co_await tcp_connect(opened.at);
    const auto tasks_waiting = [] { return runtime::here().suspended().size(); };
    const std::size_t before = tasks_waiting();
    {
      const tcp_stream program = stream_at(co_await runtime_tcp::accept(opened.door, net.home()));
      co_await program.write("last words");
    }
    std::string got(10, '\0');
    EXPECT_EQ(co_await peer.read(got), 10u);
    EXPECT_EQ(got, "last words");
    char more;
    EXPECT_EQ(co_await with_timeout(peer.read(byte_span(&more, 1)), 20s), 0u);
    // The tasks that carry the bytes end, although the peer keeps its side open.
    EXPECT_TRUE(co_await wait_until([&] { return tasks_waiting() == before; }));
    // Nothing reads on the other side any more: writing fails sooner or later.
    const auto refused = [](tcp_stream to) -> task<> {
      const std::string text = long_text();
      for (;;) co_await to.write(byte_view(std::string_view(text)));
    };
    const auto end = co_await as_expected(with_timeout(refused(peer), 20s));
    EXPECT_FALSE(end.has_value());
    EXPECT_NE(end.error(), std::errc::timed_out);
  });
}

DRIVER_TEST(runtime_tcp, "a refused connection is the caller's error") {
  runtime rt(make(), with_source());
  rt.run([]() -> task<> {
    const runtime_tcp net;
    address free;
    {
      const opened_door opened = net.listen(address::loopback(0));
      free = opened.at;
    }
    const auto end = co_await as_expected(net.connect(free));
    EXPECT_FALSE(end.has_value());
    EXPECT_EQ(end.error(), std::errc::connection_refused);
  });
}

HEDDLE_TEST(runtime_tcp, "without runtime_options::tcp a runtime has no source") {
  runtime rt;
  rt.run([]() -> task<> {
    const runtime_tcp net;
    EXPECT_EQ(runtime_tcp::here(), nullptr);
    co_await net.settled();
  });
}

HEDDLE_TEST(runtime_tcp, "a program without room net refuses HEDDLE_NET=user, and takes kernel") {
  runtime_options o;
  ::setenv("HEDDLE_NET", "kernel", 1);
  heddle::detail::read_network(o);
  EXPECT_FALSE(o.tcp);
  ::setenv("HEDDLE_NET", "user:tun0,10.9.0.2/24", 1);
  std::string said;
  try {
    heddle::detail::read_network(o);
  } catch (const failure& e) {
    said = e.what();
  }
  ::unsetenv("HEDDLE_NET");
  EXPECT_NE(said.find("this program is built without heddle::net"), std::string::npos) << said;
}

}  // namespace
}  // namespace heddle::test

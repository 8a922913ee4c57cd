// SPDX-License-Identifier: MIT
// Interoperation with Linux in both directions, over a network that loses, reorders and doubles
// packets, with readers that close their windows: each byte is compared. It needs root; elsewhere
// it is skipped.
#include <thread>

#include "heddle/heddle.hh"
#include "heddle/io/tcp.hh"
#include "heddle/net/provider.hh"
#include "support/namespaces.hh"
#include "support/test.hh"
#include "tests/net/noise.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

void interoperate(lossy_network::options faults, bool rests) {
  lossy_network net(faults);
  if (!net) GTEST_SKIP() << "it needs root, namespaces and /dev/net/tun";
  // Linux opens to ours, then ours to Linux.
  const auto in_far = [&]() -> task<> {
    stream s = co_await with_timeout(tcp_connect(*address::parse("10.9.0.2:80")), 30s);
    co_await with_timeout(exchange(s, 1, 2, rests), 60s);
    auto kernels = net::kernel().listen(*address::parse("10.8.0.1:81"));
    stream back = co_await with_timeout(kernels.door.accept(), 60s);
    co_await with_timeout(exchange(back, 1, 2, rests), 60s);
    co_await sleep_for(500ms);  // the kernel sends on after that, but answers come to its sockets
  };
  const auto in_near = [&]() -> task<> {
    const net::provider user =
        net::user({.stack = {.receive_window_bytes = 128 * 1024, .send_queue_bytes = 256 * 1024}});
    std::uint32_t least = UINT32_MAX;  // of Linux' windows
    user.stack()->set_watcher(
        [](void* out, const tcp::connection_info& i, tcp::instant) {
          auto& so_far = *static_cast<std::uint32_t*>(out);
          so_far = std::min(so_far, i.peer_window_bytes);
        },
        &least);
    auto [door, at] = user.listen(address::any(80));
    stream s = co_await with_timeout(door.accept(), 60s);
    co_await with_timeout(exchange(s, 2, 1, rests), 60s);
    for (int tries = 0; tries != 200; ++tries) {
      auto opened =
          co_await as_expected(with_timeout(user.connect(*address::parse("10.8.0.1:81")), 30s));
      if (!opened && opened.error() == std::errc::connection_refused) {
        co_await sleep_for(20ms);  // Linux does not listen yet
        continue;
      }
      if (!opened) throw failure(opened.error());
      co_await with_timeout(exchange(*opened, 2, 1, rests), 60s);
      break;
    }
    static_cast<void>(co_await as_expected(with_timeout(user.settled(), 5s)));
    user.stack()->set_watcher(nullptr, nullptr);
    // The packet that says 0 may be lost; the one before it leaves less than a segment.
    if (rests) EXPECT_LE(least, faults.loss == 0 ? 0u : 1460u);
    EXPECT_EQ(user.stack()->counters().dropped(tcp::drop::tcp_checksum), 0u);
    EXPECT_EQ(user.stack()->counters().dropped(tcp::drop::tcp_options), 0u);
  };
  std::jthread far([&] {
    const net_namespace::visit in(net.far);
    runtime rt;
    rt.run(in_far());
  });
  {
    const net_namespace::visit in(net.near);
    runtime rt;
    rt.run(in_near());
  }
  far.join();
}

}  // namespace

TEST(net_interop_linux, bytes_are_exact_both_ways_without_faults) { interoperate({}, false); }
TEST(net_interop_linux, bytes_are_exact_both_ways_where_a_reader_closes_its_window) {
  interoperate({}, true);
}
TEST(net_interop_linux, bytes_are_exact_both_ways_at_one_percent_loss) {
  interoperate({.loss = 0.01}, false);
}
TEST(net_interop_linux, bytes_are_exact_both_ways_at_three_percent_loss_with_duplicates) {
  interoperate({.loss = 0.03, .duplicate = 0.02}, false);
}
TEST(net_interop_linux, bytes_are_exact_both_ways_where_packets_overtake_each_other) {
  interoperate({.duplicate = 0.01, .reorder = 0.05}, false);
}
TEST(net_interop_linux, bytes_are_exact_both_ways_with_all_faults_and_a_closed_window) {
  interoperate({.loss = 0.02, .delay_us = 500, .duplicate = 0.01, .reorder = 0.02}, true);
}

}  // namespace heddle::test

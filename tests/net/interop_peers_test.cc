// SPDX-License-Identifier: MIT
// Interoperation with gVisor's stack and with lwIP, in both directions, over a network that loses,
// reorders and doubles packets. The peers are programs that `cmake --build DIR --target interop`
// builds where Go and lwIP are there. It needs root. What is missing is the reason to skip.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <thread>

#include "heddle/heddle.hh"
#include "heddle/net/provider.hh"
#include "support/namespaces.hh"
#include "support/test.hh"
#include "tests/net/noise.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

/// A peer's program beside this one.
std::filesystem::path peer_program(const char* name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "interop" / name;
}

/// A peer in this thread's namespace, and what it says.
class peer_process {
 public:
  explicit peer_process(const std::string& command) : said_(::popen(command.c_str(), "r")) {}
  peer_process(const peer_process&) = delete;
  peer_process& operator=(const peer_process&) = delete;
  ~peer_process() {
    if (said_ != nullptr) ::pclose(said_);
  }
  std::string line() {
    char text[256] = "";
    if (said_ == nullptr || std::fgets(text, sizeof text, said_) == nullptr) return "it has ended";
    return std::string(text, std::strcspn(text, "\n"));
  }

 private:
  std::FILE* said_;
};

void interoperate_with(const char* name, lossy_network::options faults, bool peer_listens) {
  const auto program = peer_program(name);
  if (!std::filesystem::exists(program))
    GTEST_SKIP() << program << " is not there: build the target `interop` (it wants Go, lwIP)";
  lossy_network net(faults);
  if (!net) GTEST_SKIP() << "it needs root, namespaces and /dev/net/tun";
  {
    const net_namespace::visit in(net.near);
    ASSERT_TRUE(add_route("10.11.0.0", "box0"));
  }
  std::string ready, result;
  std::atomic<bool> listens{false};
  std::jthread far([&] {
    const net_namespace::visit in(net.far);
    const int device = make_tun("peer0", "10.11.0.1", 0);
    if (device < 0) return;
    ::close(device);
    std::ofstream("/proc/sys/net/ipv4/ip_forward") << "1";
    std::string command = program.string() + " peer0 10.11.0.2 ";
    command += peer_listens ? "listen 81" : "connect 10.9.0.2 80";
    if (!peer_listens)
      while (!listens) std::this_thread::sleep_for(1ms);
    peer_process peer(command);
    ready = peer.line();
    if (peer_listens) listens = true;
    result = peer.line();
    listens = true;
  });
  {
    const net_namespace::visit in(net.near);
    runtime rt;
    rt.run([&]() -> task<> {
      const net::provider user =
          net::user({.stack = {.receive_window_bytes = 64 * 1024, .send_queue_bytes = 256 * 1024}});
      auto [door, at] = user.listen(address::any(80));
      while (!net::device_runs("tun0")) co_await sleep_for(2ms);
      if (peer_listens) {
        while (!listens) co_await sleep_for(5ms);
        stream s = co_await with_timeout(user.connect(*address::parse("10.11.0.2:81")), 30s);
        co_await with_timeout(exchange(s, 2, 1, true), 90s);
      } else {
        listens = true;
        stream s = co_await with_timeout(door.accept(), 60s);
        co_await with_timeout(exchange(s, 2, 1, true), 90s);
      }
      static_cast<void>(co_await as_expected(with_timeout(user.settled(), 5s)));
      EXPECT_EQ(user.stack()->counters().dropped(tcp::drop::tcp_checksum), 0u);
    });
  }
  far.join();
  EXPECT_EQ(ready, "ready");
  EXPECT_EQ(result, "right");
}

class net_interop : public testing::TestWithParam<const char*> {};

}  // namespace

TEST_P(net_interop, ours_opens_without_faults) { interoperate_with(GetParam(), {}, true); }
TEST_P(net_interop, the_peer_opens_without_faults) { interoperate_with(GetParam(), {}, false); }
TEST_P(net_interop, ours_opens_with_loss_and_duplicates) {
  interoperate_with(GetParam(), {.loss = 0.01, .duplicate = 0.01}, true);
}
TEST_P(net_interop, the_peer_opens_with_loss_and_duplicates) {
  interoperate_with(GetParam(), {.loss = 0.01, .duplicate = 0.01}, false);
}
TEST_P(net_interop, ours_opens_where_packets_overtake_each_other) {
  interoperate_with(GetParam(), {.reorder = 0.03}, true);
}
TEST_P(net_interop, the_peer_opens_where_packets_overtake_each_other) {
  interoperate_with(GetParam(), {.reorder = 0.03}, false);
}
// lwIP recovers from losses by timeouts of a second; it would take minutes at three percent.
TEST(net_interop_gvisor, both_ways_at_three_percent_loss) {
  interoperate_with("gvisor_peer", {.loss = 0.03}, true);
  if (!testing::Test::IsSkipped()) interoperate_with("gvisor_peer", {.loss = 0.03}, false);
}

INSTANTIATE_TEST_SUITE_P(peers, net_interop, testing::Values("gvisor_peer", "lwip_peer"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace heddle::test

// SPDX-License-Identifier: MIT
// TCP in the program against the kernel's, over TUN devices in namespaces of the test's own. It
// needs root; elsewhere it is skipped.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#include "heddle/heddle.hh"
#include "heddle/io/blocking.hh"
#include "heddle/io/tcp.hh"
#include "heddle/net/provider.hh"
#include "heddle/tcp/segment.hh"
#include "support/drivers.hh"
#include "support/namespaces.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

#define HEDDLE_NEEDS_NETWORK(net) \
  if (!(net)) GTEST_SKIP() << "it needs root, namespaces and /dev/net/tun"

std::string noise(std::size_t bytes) {
  std::string text(bytes, '\0');
  std::uint32_t x = 99;
  for (char& c : text) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  return text;
}

/// Reads a number of eight digits and gives as many bytes back, then reads as many.
task<> serve_numbers(listener door, int connections) {
  for (int i = 0; i != connections; ++i) {
    stream s = co_await door.accept();
    char digits[8];
    EXPECT_EQ(co_await s.read(byte_span(digits, 8)), 8u);
    const std::size_t size = std::stoul(std::string(digits, 8));
    co_await s.write(noise(size));
    std::string back(size, '\0');
    EXPECT_EQ(co_await s.read(back), size);
    EXPECT_EQ(back, noise(size));
    s.close();
  }
}

task<> ask_numbers(stream s, std::size_t size) {
  std::string digits = std::to_string(size);
  digits.insert(0, 8 - digits.size(), '0');
  co_await s.write(std::string_view(digits));
  std::string got(size, '\0');
  EXPECT_EQ(co_await s.read(got), size);
  EXPECT_EQ(got, noise(size));
  co_await s.write(std::string_view(got));
  EXPECT_TRUE((co_await s.receive()).empty());
}

/// Runs the body over a TUN of its own, with offloads and without.
void over_tun(const test::driver_maker& make, task<> (*body)(net::provider)) {
  if (!make.real()) GTEST_SKIP() << "the simulation has no TUN";
  for (const bool offloads : {true, false}) {
    const net_namespace own;
    HEDDLE_NEEDS_NETWORK(own);
    const net_namespace::visit in(own);
    const int device = make_tun("tun0", "10.9.0.1", IFF_VNET_HDR | IFF_MULTI_QUEUE);
    HEDDLE_NEEDS_NETWORK(device >= 0);
    ::close(device);
    runtime rt(make());
    rt.run([offloads, body]() -> task<> {
      net::provider net = net::user({.offloads = offloads});
      co_await body(std::move(net));
    });
  }
}

DRIVER_TEST(net_user, "the kernel's TCP and ours exchange bytes over a TUN, in both directions") {
  over_tun(make, [](net::provider net) -> task<> {
    auto [door, at] = net.listen(address::any(80));
    EXPECT_EQ(at.to_string(), "10.9.0.2:80");
    const std::size_t sizes[] = {0, 1, 100, 1460, 1461, 65'536, 3'000'000};
    scope side;
    side.spawn(serve_numbers(door, std::size(sizes)));
    for (const std::size_t size : sizes)
      co_await with_timeout(ask_numbers(co_await tcp_connect(at), size), 20s);
    co_await side.join();
    // The other way: ours connects to the kernel's.
    auto kernels = net::kernel().listen(*address::parse("10.9.0.1:0"));
    scope back;
    back.spawn(serve_numbers(kernels.door, std::size(sizes)));
    for (const std::size_t size : sizes)
      co_await with_timeout(ask_numbers(co_await net.connect(kernels.at), size), 20s);
    co_await back.join();
    EXPECT_EQ(net.stack()->counters().dropped(tcp::drop::tcp_checksum), 0u);
  });
}

/// Sends an echo request with 40 bytes by the kernel; whether they come back within half a second.
bool ping_comes_back() {
  const int raw = ::socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
  if (raw < 0) return false;
  ::sockaddr_in to{};
  to.sin_family = AF_INET;
  ::inet_pton(AF_INET, "10.9.0.2", &to.sin_addr);
  std::array<std::byte, 48> packet{};
  packet[0] = std::byte{8};
  packet[5] = std::byte{77};
  for (std::size_t i = 8; i < packet.size(); ++i) packet[i] = static_cast<std::byte>(i);
  tcp::checksum sum;
  sum.add(packet);
  tcp::put16(packet.data() + 2, sum.value());
  bool back = false;
  ::pollfd readable{raw, POLLIN, 0};
  if (::sendto(raw, packet.data(), packet.size(), 0, reinterpret_cast<::sockaddr*>(&to),
               sizeof to) == static_cast<::ssize_t>(packet.size()) &&
      ::poll(&readable, 1, 500) == 1) {
    std::array<std::byte, 256> in{};
    // The kernel gives the header of IP, too, and has checked no sum of ICMP.
    const ::ssize_t got = ::recv(raw, in.data(), in.size(), 0);
    tcp::checksum of_answer;
    of_answer.add({in.data() + 20, 48});
    back = got == 68 && in[20] == std::byte{0} && of_answer.value() == 0 &&
           std::memcmp(in.data() + 24, packet.data() + 4, 44) == 0;
  }
  ::close(raw);
  return back;
}

DRIVER_TEST(net_user, "a ping is answered over a TUN, with offloads and without") {
  over_tun(make, [](net::provider net) -> task<> {
    bool back = false;
    // The kernel drops packets until it has seen that the device runs.
    for (int tries = 0; tries != 20 && !back; ++tries) back = co_await blocking(ping_comes_back);
    EXPECT_TRUE(back);
    EXPECT_GT(net.stack()->counters().echoes_sent, 0u);
    // An address of the kernel's own gets no packets.
    std::string said;
    try {
      static_cast<void>(net::user({.address = "10.9.0.1/24"}));
    } catch (const failure& e) {
      said = e.what();
    }
    EXPECT_NE(said.find("the kernel has the address 10.9.0.1 itself"), std::string::npos) << said;
  });
}

/// Connects to an address of the program's own, and exchanges a word.
task<> talk_to_itself(net::provider net, listener door, address to) {
  const stream one = co_await with_timeout(net.connect(to), 20s);
  const stream other = co_await with_timeout(door.accept(), 20s);
  co_await one.write("word");
  char text[4];
  EXPECT_EQ(co_await with_timeout(other.read(byte_span(text, 4)), 20s), 4u);
  EXPECT_EQ(std::string_view(text, 4), "word");
}

DRIVER_TEST(net_user,
            "a program reaches its own listener without packets, and the kernel's by loopback") {
  over_tun(make, [](net::provider net) -> task<> {
    auto [door, at] = net.listen(address::any(80));
    for (const address& to : {at, address::loopback(80)}) co_await talk_to_itself(net, door, to);
    EXPECT_EQ(net.stack()->counters().packets_out, 0u);
    const auto refused = co_await as_expected(net.connect(at.with_port(81)));
    EXPECT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error(), std::errc::connection_refused);
    auto kernels = net::kernel().listen(address::loopback(0));
    const stream theirs = co_await with_timeout(net.connect(kernels.at), 20s);
    const stream accepted = co_await with_timeout(kernels.door.accept(), 20s);
    EXPECT_EQ(accepted.peer().host(), "127.0.0.1");
  });
}

DRIVER_TEST(net_user, "what is not there is said, with the commands that help") {
  auto driver = make();
  if (driver->simulated()) GTEST_SKIP() << "the simulation has no TUN";
  const net_namespace own;
  HEDDLE_NEEDS_NETWORK(own);
  const net_namespace::visit in(own);
  HEDDLE_NEEDS_NETWORK(::access("/dev/net/tun", R_OK | W_OK) == 0);
  runtime rt(std::move(driver));
  rt.run([]() -> task<> {
    try {
      static_cast<void>(net::user({.device = "tun7", .address = "10.9.0.2/24"}));
      ADD_FAILURE();
    } catch (const failure& e) {
      EXPECT_NE(std::string(e.what()).find("there is no device tun7"), std::string::npos);
      EXPECT_NE(std::string(e.what()).find("ip address add 10.9.0.1/24 dev tun7"),
                std::string::npos);
    }
    EXPECT_THROW(static_cast<void>(net::user({.address = "10.9.0"})), failure);
    co_return;
  });
}

/// A client in the far namespace with the kernel's TCP, on a thread of its own.
void exchange_with_loss(double loss, std::uint32_t delay_us) {
  lossy_network net({.loss = loss, .delay_us = delay_us});
  HEDDLE_NEEDS_NETWORK(net);
  const std::size_t sizes[] = {1, 5000, 200'000, 1'000'000};
  std::thread far([&] {
    const net_namespace::visit in(net.far);
    runtime rt;
    rt.run([&]() -> task<> {
      for (const std::size_t size : sizes) {
        stream s = co_await with_timeout(tcp_connect(*address::parse("10.9.0.2:80")), 30s);
        co_await with_timeout(ask_numbers(std::move(s), size), 60s);
      }
    });
  });
  {
    const net_namespace::visit in(net.near);
    runtime rt;
    rt.run([&]() -> task<> {
      const net::provider user = net::user({});
      auto [door, at] = user.listen(address::any(80));
      co_await with_timeout(serve_numbers(door, std::size(sizes)), 100s);
      static_cast<void>(co_await as_expected(with_timeout(user.settled(), 5s)));
    });
  }
  far.join();
  if (loss > 0) EXPECT_GT(net.lost(), 0u);
}

TEST(net_user, bytes_are_exact_over_a_network_that_loses_one_percent) {
  exchange_with_loss(0.01, 0);
}
TEST(net_user, bytes_are_exact_over_a_network_that_loses_three_percent_and_delays) {
  exchange_with_loss(0.03, 1000);
}

}  // namespace
}  // namespace heddle::test

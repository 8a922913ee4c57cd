// SPDX-License-Identifier: MIT
// The choice of a provider by a text or by the environment, and the addresses that it refuses.
#include <cstdlib>

#include "heddle/heddle.hh"
#include "heddle/net/choice.hh"
#include "support/test.hh"

namespace heddle::test {
namespace {

std::string trouble_of(const char* text) {
  try {
    (void)net::by_name(text);
  } catch (const failure& e) {
    return e.what();
  }
  return "";
}

HEDDLE_TEST(net_choice, "an own address is one that a host can have") {
  for (const char* good : {"10.9.0.2", "10.9.0.2/24", "10.9.0.0/31", "10.9.0.1/32", "fd09::2/64",
                           "192.168.255.254/16", "10.9.0.255/23"})
    EXPECT_EQ(net::address_trouble(good), "") << good;
  for (const char* bad : {"",
                          "here",
                          "10.9.0",
                          "10.9.0.2/",
                          "10.9.0.2/99",
                          "10.9.0.2/0",
                          "10.9.0.2/-1",
                          "10.9.0.2/24x",
                          "0.0.0.0",
                          "0.0.0.0/24",
                          "127.0.0.1/8",
                          "255.255.255.255",
                          "224.0.0.1/4",
                          "10.9.0.0/24",
                          "10.9.0.255/24",
                          "::",
                          "::1/128",
                          "ff02::1/64",
                          "fd09::/64",
                          "fd09::2/129"})
    EXPECT_NE(net::address_trouble(bad), "") << bad;
}

HEDDLE_TEST(net_choice, "a text names the kernel, or a device with an address") {
  runtime rt;
  rt.run([]() -> task<> {
    EXPECT_FALSE(net::by_name("kernel").is_user());
    for (const char* bad : {"", "user", "user:", "user:tun0", "user:,10.9.0.2/24", "kernels"})
      EXPECT_NE(trouble_of(bad).find("is no network; write kernel, or user:DEVICE,ADDRESS"),
                std::string::npos)
          << bad;
    EXPECT_NE(trouble_of("user:tun0,10.9.0.2/99").find("1 to 32"), std::string::npos);
    co_return;
  }());
}

HEDDLE_TEST(net_choice, "parts behind the address set limits, a trace and the bound of a process") {
  const net::choice all = net::read_choice(
      "user:tun3,10.9.0.2/24,trace=a.pcap,trace-size=8K,memory=64M,shard-memory=1G,full=refuse,"
      "dump=7");
  EXPECT_EQ(all.trouble, "");
  ASSERT_TRUE(all.user.has_value());
  EXPECT_EQ(all.user->device, "tun3");
  EXPECT_EQ(all.user->address, "10.9.0.2/24");
  EXPECT_EQ(all.user->trace, "a.pcap");
  EXPECT_EQ(all.user->trace_bytes_max, 8192u);
  EXPECT_EQ(all.user->stack.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(all.user->stack.when_full, tcp::memory_policy::refuse);
  EXPECT_EQ(all.user->stack.dump_connections_max, 7u);
  EXPECT_EQ(all.memory, std::uint64_t{64} << 20);
  for (const auto& [part, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"memory=1", "is not from 65536"},
           {"memory=1T", "is no size"},
           {"memory=99999999999G", "is not from"},
           {"memory=18446744073709551615K", "is not from"},
           {"full=perhaps", "full=wait or full=refuse"},
           {"dump=-1", "is no number of connections"},
           {"trace=", "trace=FILE"},
           {"colour=red", "no part of a network"},
           {"", "no part of a network"}})
    EXPECT_NE(net::read_choice("user:tun0,10.9.0.2/24," + std::string(part)).trouble.find(why),
              std::string::npos)
        << part;
}

HEDDLE_TEST(net_choice, "HEDDLE_NET chooses; without it the kernel is chosen") {
  runtime rt;
  rt.run([]() -> task<> {
    ::unsetenv("HEDDLE_NET");
    EXPECT_FALSE(net::from_environment().is_user());
    ::setenv("HEDDLE_NET", "kernel", 1);
    EXPECT_FALSE(net::from_environment().is_user());
    ::setenv("HEDDLE_NET", "user:nonsense", 1);
    std::string said;
    try {
      (void)net::from_environment();
    } catch (const failure& e) {
      said = e.what();
    }
    EXPECT_NE(said.find("'user:nonsense' is no network"), std::string::npos) << said;
    ::unsetenv("HEDDLE_NET");
    co_return;
  }());
}

}  // namespace
}  // namespace heddle::test

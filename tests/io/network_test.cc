// SPDX-License-Identifier: MIT
// Networks: what is in them, what is none, and that they read back as they were written.
#include "heddle/io/network.hh"

#include "support/test.hh"

using heddle::address;
using heddle::network;

namespace {

bool within(const char* net, const char* host) {
  return network::parse(net).value().contains(address::parse(host).value());
}

}  // namespace

HEDDLE_TEST(network, "it contains the addresses that begin as it does, and no other") {
  EXPECT_TRUE(within("192.0.2.0/24", "192.0.2.255"));
  EXPECT_FALSE(within("192.0.2.0/24", "192.0.3.0"));
  EXPECT_TRUE(within("192.0.2.128/25", "192.0.2.129:80"));
  EXPECT_FALSE(within("192.0.2.128/25", "192.0.2.127"));
  EXPECT_TRUE(within("192.0.2.7", "192.0.2.7"));
  EXPECT_FALSE(within("192.0.2.7", "192.0.2.6"));
  EXPECT_TRUE(within("0.0.0.0/0", "203.0.113.9"));
  EXPECT_TRUE(within("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(within("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(within("::1", "[::1]:8000"));
}

HEDDLE_TEST(network, "a version 4 address that came by version 6 is the version 4 address") {
  EXPECT_TRUE(within("192.0.2.0/24", "::ffff:192.0.2.9"));
  EXPECT_FALSE(within("192.0.2.0/24", "::192.0.2.9"));
  EXPECT_FALSE(within("0.0.0.0/0", "2001:db8::1"));
  EXPECT_FALSE(within("2001:db8::/32", "192.0.2.9"));
  EXPECT_FALSE(network::parse("::/0").value().contains(address()));
}

HEDDLE_TEST(network, "what is no network is refused, ones behind its length included") {
  for (const char* text :
       {"", "/8", "192.0.2.0/", "192.0.2.0/33", "192.0.2.0/-1", "192.0.2.0/8x", "192.0.2.1/24",
        "::1/64", "2001:db8::/129", "192.0.2.0:80/24", "[::1]/128", "here/8"})
    EXPECT_FALSE(network::parse(text)) << text;
}

HEDDLE_TEST(network, "it reads back as it was written") {
  for (const char* text : {"192.0.2.0/24", "192.0.2.7/32", "0.0.0.0/0", "::/0", "2001:db8::/32"})
    EXPECT_EQ(network::parse(text).value().to_string(), text);
  EXPECT_EQ(network::parse("::1").value().to_string(), "::1/128");
}

HEDDLE_TEST(network, "addresses of this machine only are told from others") {
  for (const char* text : {"127.0.0.1", "127.255.0.9", "::1"})
    EXPECT_TRUE(address::parse(text).value().is_loopback()) << text;
  for (const char* text : {"0.0.0.0", "126.0.0.1", "192.0.2.7", "::", "2001:db8::1"})
    EXPECT_FALSE(address::parse(text).value().is_loopback()) << text;
  EXPECT_FALSE(address().is_loopback());
}

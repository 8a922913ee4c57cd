// SPDX-License-Identifier: MIT
// The budget of challenge ACKs: an attacker who shares the stack with a victim cannot count the
// victim's challenges (CVE-2016-5696), and the answers to pings are bounded, too.
#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "support/test.hh"
#include "tcp/core.hh"
#include "tests/tcp/joined.hh"

using namespace heddle::tcp;
using heddle::tcp::test::options_of;

namespace {

/// A stack at 10.0.0.1 whose peers are written by hand.
struct bare_stack final : network, user, packet::home {
  stack_options options;
  stack on;
  instant now = 10'000'000;
  std::vector<std::vector<std::byte>> sent;

  explicit bare_stack(const stack_options& o) : options(o), on(o, *this, *this) {
    on.add_address(ip_address::v4(10, 0, 0, 1));
    on.listen(80);
  }
  void put(std::vector<std::byte> bytes) {
    packet p(bytes, *this);
    on.input(p, now);
    on.flush(now);
    p.release();
  }
  void put(const endpoint& from, std::uint8_t flags, sequence seq, sequence ack) {
    segment s;
    s.source = from;
    s.destination = {ip_address::v4(10, 0, 0, 1), 80};
    s.flags = flags;
    s.seq = seq;
    s.ack = ack;
    s.window = 65535;
    std::byte header[header_bytes_max];
    const std::size_t n = write_headers(s, {}, header);
    put({header, header + n});
  }
  segment last_sent() {
    ip_head ip;
    segment s;
    EXPECT_FALSE(sent.empty());
    EXPECT_EQ(parse_ip(sent.back(), ip), drop::none);
    EXPECT_EQ(parse_segment(ip, s), drop::none);
    s.payload = {};
    return s;
  }
  /// Opens a connection from there; the peer's next number is 1.
  void open(const endpoint& from) {
    put(from, flag_syn, 0, 0);
    put(from, flag_ack, 1, last_sent().seq + 1);
  }
  std::size_t answers_to(const ip_address& a) const {
    std::size_t count = 0;
    for (const auto& each : sent)
      if (std::memcmp(each.data() + 16, a.bytes.data() + 12, 4) == 0) ++count;
    return count;
  }

  void transmit(const outgoing& p) noexcept override {
    auto& whole = sent.emplace_back(p.header.begin(), p.header.end());
    for (const auto& piece : p.payload) whole.insert(whole.end(), piece.begin(), piece.end());
  }
  void accepted(connection c, std::uint16_t) noexcept override { on.take_accepted(c); }
  void connected(connection) noexcept override {}
  void received(connection, std::span<const std::byte>, packet&) noexcept override {}
  void acknowledged(connection, std::uint32_t) noexcept override {}
  void finished(connection) noexcept override {}
  void ended(connection, std::uint64_t, ending) noexcept override {}
  void take_back(packet&) noexcept override {}
};

const endpoint attacker{ip_address::v4(10, 0, 0, 66), 666};
const endpoint victim{ip_address::v4(10, 0, 0, 50), 5000};

}  // namespace

HEDDLE_TEST(tcp_challenge,
            "an attacker counts the same whether another connection was challenged") {
  struct guess {
    std::uint8_t flags;
    sequence seq;
  };
  // SYN in the window and outside, RST in the window, an ACK of anything: right guesses get
  // challenges, wrong ones do not.
  for (const guess g : {guess{flag_syn, 100}, guess{flag_syn, 900'000}, guess{flag_rst, 1000},
                        guess{flag_ack, 1}, guess{flag_ack, 500'000}}) {
    std::set<std::size_t> counted;
    for (const bool exists : {true, false}) {
      bare_stack s(options_of(7));
      s.open(attacker);
      s.open(victim);
      s.sent.clear();
      endpoint aimed = victim;
      if (!exists) ++aimed.port;
      for (int i = 0; i < 3; ++i) s.put(aimed, g.flags, g.seq, g.flags == flag_ack ? 77u : 0u);
      for (sequence i = 0; i < 130; ++i) s.put(attacker, flag_rst, 100 + i, 0);
      counted.insert(s.answers_to(attacker.address));
    }
    EXPECT_EQ(counted.size(), 1u) << "flags " << int{g.flags} << " seq " << g.seq;
  }
}

HEDDLE_TEST(tcp_challenge, "the bound of all connections changes from second to second") {
  challenge_budget budget;
  const heddle::siphash_key key{1, 2};
  std::set<std::uint32_t> bounds;
  for (instant second = 1; second <= 50; ++second) {
    std::uint32_t taken = 0;
    // Connections without end, of which each takes one.
    for (std::uint64_t owner = 1; owner <= 400; ++owner)
      if (budget.take(owner * 64, second * 1'000'000, 4, 200, key)) ++taken;
    EXPECT_GE(taken, 100u);
    EXPECT_LE(taken, 300u);
    bounds.insert(taken);
  }
  EXPECT_GT(bounds.size(), 30u);
}

HEDDLE_TEST(tcp_challenge, "each connection has its own bound in a second, exactly") {
  challenge_budget budget;
  const heddle::siphash_key key{1, 2};
  for (instant second = 1; second <= 3; ++second)
    for (int turn = 0; turn < 6; ++turn)
      for (std::uint64_t owner = 0; owner < 50; ++owner)
        EXPECT_EQ(budget.take(owner << 32, second * 1'000'000, 4, 1000, key), turn < 4);
  EXPECT_FALSE(budget.take(1, 9'000'000, 4, 0, key)) << "a bound of 0 sends none";
}

HEDDLE_TEST(tcp_address, "a packet from a loopback address is dropped, and none is sent to one") {
  bare_stack s(options_of(7));
  s.put({ip_address::v4(127, 0, 0, 1), 5000}, flag_syn, 0, 0);
  s.put({ip_address::v4(127, 9, 9, 9), 5000}, flag_ack, 0, 9);
  EXPECT_TRUE(s.sent.empty());
  EXPECT_EQ(s.on.counters().dropped(drop::address), 2u);
  EXPECT_TRUE(ip_address::parse("::1")->is_loopback());
  EXPECT_FALSE(ip_address::parse("fd00::1")->is_loopback());
  const auto c =
      s.on.connect({ip_address::v4(10, 0, 0, 1), 0}, {ip_address::v4(127, 0, 0, 1), 80}, s.now);
  ASSERT_FALSE(c);
  EXPECT_EQ(c.error(), std::errc::invalid_argument);
}

namespace {

std::vector<std::byte> ping(const ip_address& from, const ip_address& to, std::size_t bytes) {
  const bool v4 = from.is_v4();
  const std::size_t head = v4 ? 20 : 40;
  const std::uint8_t protocol = v4 ? protocol_icmp : protocol_icmp6;
  std::vector<std::byte> p(head + 8 + bytes);
  write_ip_head({from, to, protocol, {}}, 8 + bytes, p.data());
  std::byte* const icmp = p.data() + head;
  icmp[0] = v4 ? std::byte{8} : std::byte{128};
  put32(icmp + 4, 0x12345678);
  for (std::size_t i = 0; i < bytes; ++i) icmp[8 + i] = static_cast<std::byte>(i);
  checksum sum;
  if (!v4) sum.add_pseudo(from, to, protocol, static_cast<std::uint32_t>(8 + bytes));
  sum.add({icmp, 8 + bytes});
  put16(icmp + 2, sum.value());
  return p;
}

}  // namespace

HEDDLE_TEST(tcp_icmp, "a ping gets its bytes back") {
  for (const char* from : {"10.0.0.9", "fd00::9"}) {
    bare_stack s(options_of(7));
    const ip_address peer = *ip_address::parse(from);
    const ip_address own = *ip_address::parse(peer.is_v4() ? "10.0.0.1" : "fd00::1");
    s.on.add_address(own);
    const std::vector<std::byte> asked = ping(peer, own, 57);
    s.put(asked);
    ASSERT_EQ(s.sent.size(), 1u);
    std::vector<std::byte> wanted = ping(own, peer, 57);
    const std::size_t head = peer.is_v4() ? 20 : 40;
    ASSERT_EQ(s.sent[0].size(), wanted.size());
    EXPECT_EQ(s.sent[0][head], peer.is_v4() ? std::byte{0} : std::byte{129});
    EXPECT_TRUE(std::equal(wanted.begin() + static_cast<std::ptrdiff_t>(head) + 4, wanted.end(),
                           s.sent[0].begin() + static_cast<std::ptrdiff_t>(head) + 4));
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(head),
                           s.sent[0].begin()));
    checksum sum;
    const auto body = static_cast<std::uint32_t>(8 + 57);
    if (!peer.is_v4()) sum.add_pseudo(own, peer, protocol_icmp6, body);
    sum.add({s.sent[0].data() + head, body});
    EXPECT_EQ(sum.value(), 0) << "the checksum is right";
    EXPECT_EQ(s.on.counters().echoes_sent, 1u);
  }
}

HEDDLE_TEST(tcp_icmp, "answers to pings are bounded in a second, and none is larger than the mtu") {
  stack_options few = options_of(7);
  few.echoes_max = 3;
  bare_stack s(few);
  const ip_address peer = ip_address::v4(10, 0, 0, 9), own = ip_address::v4(10, 0, 0, 1);
  s.put(ping(peer, own, 1473));
  EXPECT_TRUE(s.sent.empty());
  for (int i = 0; i < 5; ++i) s.put(ping(peer, own, 8));
  EXPECT_EQ(s.sent.size(), 3u);
  s.now += 1'000'000;
  s.put(ping(peer, own, 1472));
  EXPECT_EQ(s.sent.size(), 4u);
}

// SPDX-License-Identifier: MIT
// Packet traces: each packet once, in the published format, within the bound.
#include "heddle/tcp/pcap.hh"

#include <vector>

#include "support/test.hh"
#include "tests/tcp/joined.hh"

using namespace heddle::tcp;

HEDDLE_TEST(tcp_pcap, "a trace has every packet that was sent, readable from its lengths") {
  heddle::tcp::test::joined l(1, {.loss = 0.1});
  pcap_trace trace(10'000'000);
  l.sim.watch(pcap_trace::watch, &trace);
  l.client_user.bytes_each = 50'000;
  l.connect();
  l.sim.run(l.sim.now() + 600'000'000);
  const std::uint64_t sent = l.client.counters().packets_out + l.server.counters().packets_out;
  EXPECT_EQ(trace.packets(), sent);
  EXPECT_EQ(trace.left_out(), 0u);
  const std::span<const std::byte> b = trace.bytes();
  ASSERT_EQ(get32(b.data()), 0xa1b2c3d4);
  EXPECT_EQ(get32(b.data() + 20), 101u);
  std::size_t at = 24, packets = 0;
  std::uint64_t before_it = 0;
  while (at < b.size()) {
    const std::uint64_t time =
        get32(b.data() + at) * std::uint64_t{1'000'000} + get32(b.data() + at + 4);
    EXPECT_GE(time, before_it);
    before_it = time;
    const std::uint32_t length = get32(b.data() + at + 8);
    EXPECT_EQ(length, get32(b.data() + at + 12));
    at += 16;
    ASSERT_LE(at + length, b.size());
    ip_head ip;
    segment s;
    ASSERT_EQ(parse_ip(b.subspan(at, length), ip), drop::none);
    ASSERT_EQ(parse_segment(ip, s), drop::none);
    at += length;
    ++packets;
  }
  EXPECT_EQ(packets, sent);
}

HEDDLE_TEST(tcp_pcap, "a full trace counts what it leaves out") {
  pcap_trace trace(24 + 2 * (16 + 40));
  const std::vector<std::byte> packet(40);
  for (int i = 0; i < 5; ++i) trace.add(i, packet);
  EXPECT_EQ(trace.packets(), 2u);
  EXPECT_EQ(trace.left_out(), 3u);
}

namespace {

/// A file of one packet of TCP, with the header bytes of a link before it.
std::vector<std::byte> file_of(std::uint32_t magic, std::uint32_t link, bool swapped,
                               std::vector<std::uint8_t> before_ip, std::size_t kept) {
  segment s;
  s.source = {ip_address::v4(10, 0, 0, 1), 4000};
  s.destination = {ip_address::v4(10, 0, 0, 2), 80};
  s.seq = 7;
  s.flags = flag_ack;
  const std::vector<std::byte> payload(1000);
  const std::span<const std::byte> pieces[] = {payload};
  std::byte header[header_bytes_max];
  const std::size_t n = write_headers(s, pieces, header);
  std::vector<std::byte> packet;
  for (const std::uint8_t b : before_ip) packet.push_back(static_cast<std::byte>(b));
  packet.insert(packet.end(), header, header + n);
  packet.insert(packet.end(), payload.begin(), payload.end());
  const std::size_t length = packet.size();
  packet.resize(std::min(kept, length));
  std::vector<std::byte> file;
  const auto put = [&](std::uint32_t v) {
    std::byte b[4];
    put32(b, swapped ? __builtin_bswap32(v) : v);
    file.insert(file.end(), b, b + 4);
  };
  for (const std::uint32_t v : {magic, 0x00020004u, 0u, 0u, 65535u, link}) put(v);
  for (const std::size_t v : {std::size_t{5}, std::size_t{250'000}, packet.size(), length})
    put(static_cast<std::uint32_t>(v));
  file.insert(file.end(), packet.begin(), packet.end());
  return file;
}

std::string trouble_of(std::span<const std::byte> file) {
  pcap_reader in(file);
  traced_packet p;
  while (in.next(p)) {
  }
  return in.trouble();
}

}  // namespace

HEDDLE_TEST(tcp_pcap, "files of other programs are read: byte orders, clocks, links, cut packets") {
  const std::vector<std::uint8_t> ethernet = {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 8, 0};
  std::vector<std::uint8_t> tagged(ethernet.begin(), ethernet.begin() + 12);
  tagged.insert(tagged.end(), {0x81, 0, 0, 9, 8, 0});
  std::vector<std::uint8_t> any(16), any2(20);
  any[14] = any2[0] = 8;
  const std::pair<std::uint32_t, std::vector<std::uint8_t>> links[] = {
      {101, {}}, {1, ethernet}, {1, tagged}, {0, {2, 0, 0, 0}}, {113, any}, {276, any2}};
  for (const std::uint32_t magic : {0xa1b2c3d4u, 0xa1b23c4du})
    for (const bool swapped : {false, true})
      for (const auto& [link, before_ip] : links)
        for (const std::size_t kept : {2000u, 80u}) {
          const auto file = file_of(magic, link, swapped, before_ip, kept);
          pcap_reader in(file);
          traced_packet p;
          ASSERT_TRUE(in.next(p)) << in.trouble() << link;
          EXPECT_EQ(p.at, 5'000'000 + (magic == 0xa1b2c3d4 ? 250'000 : 250));
          EXPECT_EQ(p.length, 1040u);
          traced_segment s;
          ASSERT_TRUE(parse_traced(p, s)) << link;
          EXPECT_EQ(s.payload_bytes, 1000u);
          EXPECT_EQ(s.s.seq, 7u);
          EXPECT_EQ(s.s.source.port, 4000);
          EXPECT_FALSE(in.next(p));
          EXPECT_EQ(in.trouble(), "");
        }
}

HEDDLE_TEST(tcp_pcap, "a file that is broken is told by what is wrong, and where") {
  const auto good = file_of(0xa1b2c3d4, 101, false, {}, 2000);
  const std::span<const std::byte> all(good);
  EXPECT_EQ(trouble_of(all), "");
  EXPECT_EQ(trouble_of(all.first(2)), "it is no pcap file: it has 2 bytes");
  EXPECT_EQ(trouble_of(all.subspan(4)),
            "it is no pcap file: its first four bytes are none of the format's");
  EXPECT_EQ(trouble_of(all.first(20)), "it ends within its header of 24 bytes");
  EXPECT_EQ(trouble_of(all.first(30)), "the file ends within the header of a packet at byte 24");
  EXPECT_EQ(trouble_of(all.first(100)), "the file ends within a packet at byte 24");
  EXPECT_EQ(trouble_of(file_of(0xa1b2c3d4, 105, false, {}, 2000)),
            "packets of link type 105 are not read; capture on a device of IP or Ethernet");
  EXPECT_NE(trouble_of(file_of(0x0a0d0d0a, 101, false, {}, 2000)).find("pcapng"),
            std::string::npos);
  std::vector<std::byte> long_one = good;
  put32(long_one.data() + 32, 0x7fffffff);
  EXPECT_NE(trouble_of(long_one).find("the file is broken"), std::string::npos);
}

HEDDLE_TEST(tcp_pcap, "the notes of a stack come back from a trace, of IPv4 and of IPv6") {
  for (const bool v6 : {false, true}) {
    heddle::tcp::test::joined l(1, {.delay_us = 5000, .loss = 0.02},
                                heddle::tcp::test::options_of(1), heddle::tcp::test::options_of(2),
                                v6);
    pcap_trace trace(10'000'000);
    l.sim.watch(pcap_trace::watch, &trace);
    l.client.set_watcher(&pcap_trace::note, &trace);
    l.client_user.bytes_each = 300'000;
    l.connect();
    l.sim.run(l.sim.now() + 600'000'000);
    pcap_reader in(trace.bytes());
    traced_packet p;
    std::size_t segments = 0, notes = 0;
    bool recovered = false;
    std::uint32_t most = 0;
    while (in.next(p)) {
      traced_segment s;
      pcap_note n;
      if (parse_traced(p, s)) {
        ++segments;
      } else {
        ASSERT_TRUE(parse_traced(p, n));
        ++notes;
        EXPECT_EQ(n.between.local.address, l.client_address);
        EXPECT_EQ(n.between.remote, (endpoint{l.server_address, 80}));
        most = std::max(most, n.window_bytes);
        recovered = recovered || n.recovering;
      }
    }
    EXPECT_EQ(in.trouble(), "");
    EXPECT_EQ(segments, l.client.counters().packets_out + l.server.counters().packets_out);
    EXPECT_GT(notes, 100u);
    EXPECT_GT(most, 14'480u);
    EXPECT_TRUE(recovered);
  }
}

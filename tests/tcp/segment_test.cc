// SPDX-License-Identifier: MIT
// Segments as bytes: what is written is read back, and what is malformed is refused with its
// reason.
#include "heddle/tcp/segment.hh"

#include <vector>

#include "support/test.hh"
#include "tests/tcp/joined.hh"

using namespace heddle::tcp;

namespace {

std::vector<std::byte> packet_of(const segment& s, std::size_t payload) {
  std::vector<std::byte> text(payload);
  for (std::size_t i = 0; i < payload; ++i) text[i] = heddle::tcp::test::stream_byte(3, i);
  const std::span<const std::byte> piece(text);
  std::byte header[header_bytes_max];
  const std::size_t n = write_headers(s, {&piece, 1}, header);
  std::vector<std::byte> out(header, header + n);
  out.insert(out.end(), text.begin(), text.end());
  return out;
}

segment sample(bool v6) {
  segment s;
  s.source = {*ip_address::parse(v6 ? "fd00::1" : "10.0.0.1"), 1234};
  s.destination = {*ip_address::parse(v6 ? "fd00::2" : "10.0.0.2"), 80};
  s.seq = 0xfffffff0;
  s.ack = 77;
  s.flags = flag_ack | flag_psh;
  s.window = 4711;
  return s;
}

drop read(std::span<const std::byte> bytes, segment& out, bool verified = false) {
  ip_head ip;
  const drop bad = parse_ip(bytes, ip, verified);
  return bad != drop::none ? bad : parse_segment(ip, out, verified);
}

/// Sets a byte and makes the sum of IPv4's header right again.
void patch_v4(std::vector<std::byte>& p, std::size_t at, unsigned value) {
  p[at] = static_cast<std::byte>(value);
  put16(p.data() + 10, 0);
  checksum sum;
  sum.add({p.data(), 20});
  put16(p.data() + 10, sum.value());
}

/// The same with TCP's checksum.
void patch_tcp(std::vector<std::byte>& p, std::size_t at, unsigned value) {
  p[20 + at] = static_cast<std::byte>(value);
  put16(p.data() + 36, 0);
  checksum sum;
  sum.add_pseudo(*ip_address::parse("10.0.0.1"), *ip_address::parse("10.0.0.2"), protocol_tcp,
                 static_cast<std::uint32_t>(p.size() - 20));
  sum.add(std::span<const std::byte>(p).subspan(20));
  put16(p.data() + 36, sum.value());
}

}  // namespace

HEDDLE_TEST(tcp_segment, "what is written is read back, over IPv4 and IPv6") {
  for (bool v6 : {false, true})
    for (std::size_t payload : {0, 1, 2, 7, 8, 1001}) {
      const segment s = sample(v6);
      segment r;
      const std::vector<std::byte> p = packet_of(s, payload);
      ASSERT_EQ(read(p, r), drop::none);
      EXPECT_EQ(r.source, s.source);
      EXPECT_EQ(r.destination, s.destination);
      EXPECT_EQ(r.seq, s.seq);
      EXPECT_EQ(r.ack, s.ack);
      EXPECT_EQ(r.flags, s.flags);
      EXPECT_EQ(r.window, s.window);
      EXPECT_EQ(r.payload.size(), payload);
    }
}

HEDDLE_TEST(tcp_segment, "options are read back, on SYN and on data") {
  segment s = sample(false);
  s.flags = flag_syn;
  s.mss = 1460;
  s.window_scale = 7;
  s.sack_permitted = true;
  s.has_timestamps = true;
  s.ts_value = 0x01020304;
  s.ts_echo = 0xa0b0c0d0;
  segment r;
  ASSERT_EQ(read(packet_of(s, 0), r), drop::none);
  EXPECT_EQ(r.mss, 1460);
  EXPECT_EQ(r.window_scale, 7);
  EXPECT_TRUE(r.sack_permitted);
  EXPECT_EQ(r.ts_value, s.ts_value);
  EXPECT_EQ(r.ts_echo, s.ts_echo);
  EXPECT_EQ(option_bytes(s), 20u);

  s = sample(false);
  s.sack_count = 4;
  for (std::uint32_t i = 0; i < 4; ++i) s.sacks[i] = {i * 100, i * 100 + 50};
  ASSERT_EQ(read(packet_of(s, 3), r), drop::none);
  ASSERT_EQ(r.sack_count, 4);
  EXPECT_EQ(r.sacks, s.sacks);
  EXPECT_FALSE(r.has_timestamps);
}

HEDDLE_TEST(tcp_segment, "options of a SYN count on a SYN only") {
  segment s = sample(false);
  s.mss = 1460;
  s.window_scale = 7;
  s.sack_permitted = true;
  segment r;
  ASSERT_EQ(read(packet_of(s, 0), r), drop::none);
  EXPECT_EQ(r.mss, 0);
  EXPECT_EQ(r.window_scale, -1);
  EXPECT_FALSE(r.sack_permitted);
}

HEDDLE_TEST(tcp_segment, "each bit of a packet that is flipped is noticed") {
  const std::vector<std::byte> good = packet_of(sample(false), 33);
  segment r;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1u << bit % 8);
    EXPECT_NE(read(bad, r), drop::none) << "bit " << bit;
  }
}

HEDDLE_TEST(tcp_segment, "each packet that is cut short is refused") {
  for (bool v6 : {false, true}) {
    const std::vector<std::byte> good = packet_of(sample(v6), 10);
    segment r;
    for (std::size_t n = 0; n < good.size(); ++n)
      EXPECT_NE(read({good.data(), n}, r, true), drop::none) << n;
  }
}

HEDDLE_TEST(tcp_segment, "bytes after the length that IP says are not payload") {
  std::vector<std::byte> p = packet_of(sample(false), 10);
  p.resize(p.size() + 6);  // Ethernet pads small frames
  segment r;
  ASSERT_EQ(read(p, r), drop::none);
  EXPECT_EQ(r.payload.size(), 10u);
}

HEDDLE_TEST(tcp_segment, "a malformed packet is refused with its reason") {
  const std::vector<std::byte> good = packet_of(sample(false), 10);
  segment r;
  const auto v4 = [&](std::size_t at, unsigned value) {
    std::vector<std::byte> p = good;
    patch_v4(p, at, value);
    return read(p, r);
  };
  EXPECT_EQ(read({}, r), drop::truncated);
  EXPECT_EQ(v4(0, 0x55), drop::ip_version);
  EXPECT_EQ(v4(0, 0x44), drop::ip_header);
  EXPECT_EQ(v4(6, 0x20), drop::fragment);  // more follow
  EXPECT_EQ(v4(7, 0x01), drop::fragment);  // not the first
  EXPECT_EQ(v4(6, 0x40), drop::none);      // "don't fragment" is fine
  std::vector<std::byte> p = good;
  p[8] = std::byte{1};
  EXPECT_EQ(read(p, r), drop::ip_checksum);
  const auto tcp = [&](std::size_t at, unsigned value) {
    std::vector<std::byte> q = good;
    patch_tcp(q, at, value);
    return read(q, r);
  };
  EXPECT_EQ(tcp(12, 0x40), drop::tcp_header);
  EXPECT_EQ(tcp(12, 0xf0), drop::tcp_header);
  EXPECT_EQ(tcp(13, flag_syn | flag_fin), drop::tcp_flags);
  EXPECT_EQ(tcp(13, flag_syn | flag_rst), drop::tcp_flags);
  p = good;
  put16(p.data() + 20, 0);
  EXPECT_EQ(read(p, r, true), drop::tcp_ports);
}

HEDDLE_TEST(tcp_segment,
            "an option without end makes a segment unusable, a strange one is skipped") {
  segment s = sample(false);
  s.has_timestamps = true;  // twelve bytes of options
  std::vector<std::byte> p = packet_of(s, 0);
  segment r;
  patch_tcp(p, 23, 11);  // longer than what is left
  EXPECT_EQ(read(p, r), drop::tcp_options);
  patch_tcp(p, 23, 1);  // shorter than itself
  EXPECT_EQ(read(p, r), drop::tcp_options);
  patch_tcp(p, 23, 10);
  patch_tcp(p, 22, 99);  // unknown kind
  EXPECT_EQ(read(p, r), drop::none);
  EXPECT_FALSE(r.has_timestamps);
  patch_tcp(p, 20, 0);  // end of options
  EXPECT_EQ(read(p, r), drop::none);
}

HEDDLE_TEST(tcp_segment, "extension headers of IPv6 are passed, a fragment is not") {
  const std::vector<std::byte> plain = packet_of(sample(true), 10);
  const auto with = [&](unsigned kind, unsigned left) {
    std::vector<std::byte> p(plain.begin(), plain.begin() + 40);
    const std::byte tcp_next = p[6];
    p[6] = static_cast<std::byte>(kind);
    put16(p.data() + 4, static_cast<std::uint32_t>(plain.size() - 40 + 8));
    p.push_back(tcp_next);
    p.push_back(std::byte{0});
    p.push_back(std::byte{0});
    p.push_back(static_cast<std::byte>(left));
    p.resize(48);
    p.insert(p.end(), plain.begin() + 40, plain.end());
    segment r;
    return read(p, r);
  };
  EXPECT_EQ(with(0, 0), drop::none);
  EXPECT_EQ(with(60, 0), drop::none);
  EXPECT_EQ(with(43, 0), drop::none);
  EXPECT_EQ(with(43, 1), drop::ip_header);
  EXPECT_EQ(with(44, 0), drop::fragment);
}

HEDDLE_TEST(tcp_segment, "a checksum does not depend on how its bytes are cut") {
  std::vector<std::byte> bytes(999);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = heddle::tcp::test::stream_byte(9, i);
  checksum whole;
  whole.add(bytes);
  for (std::size_t first = 0; first < 40; ++first)
    for (std::size_t second : {0, 1, 2, 3, 8, 17}) {
      checksum parts;
      const std::span<const std::byte> all(bytes);
      parts.add(all.first(first));
      parts.add(all.subspan(first, second));
      parts.add(all.subspan(first + second));
      EXPECT_EQ(parts.value(), whole.value());
    }
  // RFC 1071's example.
  const std::byte example[] = {std::byte{0x00}, std::byte{0x01}, std::byte{0xf2}, std::byte{0x03},
                               std::byte{0xf4}, std::byte{0xf5}, std::byte{0xf6}, std::byte{0xf7}};
  checksum sum;
  sum.add(example);
  EXPECT_EQ(sum.value(), static_cast<std::uint16_t>(~0xddf2));
}

HEDDLE_TEST(tcp_address, "addresses are read and written in their usual forms") {
  for (const char* text : {"10.0.0.1", "255.255.255.255", "fd00::1", "::", "::1",
                           "1::", "2001:db8:0:1:1:1:1:1", "1:2:3:4:5:6:7:8", "2001:db8::1:0:0:1"}) {
    const auto a = ip_address::parse(text);
    ASSERT_TRUE(a) << text;
    EXPECT_EQ(a->text(), text);
  }
  EXPECT_EQ(ip_address::parse("::ffff:1.2.3.4"), ip_address::v4(1, 2, 3, 4));
  for (const char* text :
       {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.04x", ":", ":::", "1:2", "1::2::3",
        "12345::", "1:2:3:4:5:6:7:8:9", "g::1", "1.2.3.4:", "0001.2.3.4"})
    EXPECT_FALSE(ip_address::parse(text)) << text;
}

HEDDLE_TEST(tcp_address, "unicast is told from all else") {
  for (const char* text : {"10.0.0.1", "127.0.0.1", "223.1.1.1", "fd00::1", "::1"})
    EXPECT_TRUE(ip_address::parse(text)->is_unicast()) << text;
  for (const char* text : {"0.0.0.0", "224.0.0.1", "255.255.255.255", "ff02::1", "::"})
    EXPECT_FALSE(ip_address::parse(text)->is_unicast()) << text;
}

HEDDLE_TEST(tcp_segment, "sequence numbers are compared around their end") {
  EXPECT_TRUE(before(0xfffffff0, 5));
  EXPECT_FALSE(before(5, 0xfffffff0));
  EXPECT_TRUE(at_most(5, 5));
  EXPECT_EQ(later(0xfffffff0, 5), 5u);
  EXPECT_EQ(earlier(0xfffffff0, 5), 0xfffffff0);
}

// SPDX-License-Identifier: MIT
// Parts of apps/player: the form of a datagram, what a hostile one can do (nothing), and what
// compositions and options are refused.
#include <random>
#include <stdexcept>

#include "endpoint.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

namespace {

using player::segment;
using player::segment_kind;
using player::stream_options;

std::array<std::byte, 100> some_bytes() {
  std::array<std::byte, 100> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

segment sample(std::span<const std::byte> payload) {
  segment s;
  s.last = true;
  s.session = 0x01020304;
  s.sequence = 70000;
  s.group = 69990;
  s.frame = 12;
  s.offset = 1000;
  s.total = 1100;
  s.check = 0xfedcba98;
  s.settled = 69000;
  s.payload = payload;
  return s;
}

HEDDLE_TEST(player_segment, "a datagram gives the segment that was sent") {
  const auto payload = some_bytes();
  std::array<std::byte, player::datagram_max> datagram;
  const std::size_t size = encode(sample(payload), datagram);
  ASSERT_EQ(size, player::header_bytes + payload.size());
  const auto got = player::decode(std::span(datagram).first(size));
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->last);
  EXPECT_FALSE(got->group_end);
  EXPECT_EQ(got->session, 0x01020304u);
  EXPECT_EQ(got->sequence, 70000u);
  EXPECT_EQ(got->group, 69990u);
  EXPECT_EQ(got->frame, 12u);
  EXPECT_EQ(got->offset, 1000u);
  EXPECT_EQ(got->total, 1100u);
  EXPECT_EQ(got->check, 0xfedcba98u);
  EXPECT_EQ(got->settled, 69000u);
  EXPECT_TRUE(std::ranges::equal(got->payload, payload));
}

HEDDLE_TEST(player_segment, "a datagram that is cut, longer, or beyond its frame is no segment") {
  const auto payload = some_bytes();
  std::array<std::byte, player::datagram_max> datagram{};
  const std::size_t size = encode(sample(payload), datagram);
  for (std::size_t n = 0; n <= size + 1; ++n)
    EXPECT_EQ(player::decode(std::span(datagram).first(n)).has_value(), n == size) << n;
  segment beyond = sample(payload);
  beyond.total = 1099;
  EXPECT_FALSE(player::decode(std::span(datagram).first(encode(beyond, datagram))));
  beyond = sample(payload);
  beyond.offset = 0xffffffff;
  EXPECT_FALSE(player::decode(std::span(datagram).first(encode(beyond, datagram))));
}

HEDDLE_TEST(player_guard, "a segment of another session, or one that was changed, is refused") {
  heddle::test::virtual_runtime v;
  player::endpoint e(stream_options(), 7);
  player::endpoint other(stream_options(), 8);
  const auto payload = some_bytes();
  const player::kept s = e.segments.make();
  static_cast<segment&>(*s) = sample(payload);
  s->sequence = 0;
  s->group = 0;
  s->settled = 0;
  e.bus.raise<player::segment_to_net>(*s);
  const segment sent = **e.outbox.try_pop();
  segment copy = sent;
  EXPECT_EQ(other.bus.raise<player::segment_from_net>(copy), heddle::flow::halt);
  copy = sent;
  ++copy.frame;
  EXPECT_EQ(e.bus.raise<player::segment_from_net>(copy), heddle::flow::halt);
  EXPECT_EQ(e.count.foreign, 1u);
  copy = sent;
  EXPECT_EQ(e.bus.raise<player::segment_from_net>(copy), heddle::flow::go_on);
  copy = sent;
  EXPECT_EQ(e.bus.raise<player::segment_from_net>(copy), heddle::flow::halt);
  EXPECT_EQ(e.count.duplicates, 1u);
}

HEDDLE_TEST(player_endpoint, "no datagram that a stranger makes up breaks anything") {
  std::mt19937_64 random(11);
  stream_options o;
  o.protocols = "parity,flow_control,acknowledgement,round_trip,adaptation";  // no guard
  for (int round = 0; round < 20; ++round) {
    heddle::test::virtual_runtime v;
    player::endpoint e(o, 7);
    e.add(player::make_display(e));
    std::vector<std::byte> payload(player::payload_max);
    for (int i = 0; i < 500; ++i) {
      const auto small = [&](std::uint32_t most) {
        const auto x = static_cast<std::uint32_t>(random());
        return random() % 8 == 0 ? x : x % most;
      };
      segment s;
      s.kind = static_cast<segment_kind>(1 + random() % 4);
      s.last = random() % 8 == 0;
      s.group_len = static_cast<std::uint8_t>(random() % 20);
      s.sequence = small(300);
      s.group = random() % 2 == 0 ? s.sequence : s.sequence - small(16);
      s.frame = small(20);
      s.total = small(3000);
      s.offset = small(3000);
      s.settled = small(300);
      for (std::byte& b : std::span(payload).first(16)) b = static_cast<std::byte>(random() % 4);
      const std::size_t sizes[] = {128, player::payload_max, random() % player::payload_max};
      s.payload = std::span(payload).first(sizes[random() % 3]);
      std::array<std::byte, player::datagram_max> datagram;
      const std::size_t size = encode(s, datagram);
      if (auto got = player::decode(std::span(datagram).first(size)))
        static_cast<void>(e.bus.raise<player::segment_from_net>(*got));
      while (e.outbox.try_pop()) {
      }
      v.rt.once();
    }
    EXPECT_LE(e.bus.deliveries(), 10u);
  }
}

HEDDLE_TEST(player_composition, "an unknown or lonely micro-protocol is refused by name") {
  heddle::test::virtual_runtime v;
  const auto refusal = [](const char* protocols) {
    stream_options o;
    o.protocols = protocols;
    try {
      const player::endpoint e(o, 1);
    } catch (const std::invalid_argument& why) {
      return std::string(why.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal(""), "accepted");
  EXPECT_EQ(refusal("guard,,parity,"), "accepted");
  EXPECT_NE(refusal("guard,pairity").find("no micro-protocol 'pairity'; there are: round_trip"),
            std::string::npos);
  EXPECT_EQ(refusal("flow_control"),
            "micro-protocol flow_control needs acknowledgement: add it, or leave both out");
}

HEDDLE_TEST(player_options, "an option out of its range is refused by name") {
  const auto refusal = [](auto change) {
    stream_options o;
    change(o);
    try {
      check(o);
    } catch (const std::invalid_argument& why) {
      return std::string(why.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal([](stream_options&) {}), "accepted");
  EXPECT_EQ(refusal([](stream_options& o) { o.frames_per_s = 0; }),
            "frames_per_s must be 1 to 100000");
  EXPECT_EQ(refusal([](stream_options& o) { o.segment_bytes = 1385; }),
            "segment_bytes must be 64 to 1384");
  EXPECT_EQ(refusal([](stream_options& o) { o.group_len = 17; }), "group_len must be 2 to 16");
  EXPECT_EQ(refusal([](stream_options& o) { o.window = 513; }), "window must be 1 to window_max");
  EXPECT_EQ(refusal([](stream_options& o) { o.loss = 1.5; }), "loss must be 0 to 1");
}

}  // namespace

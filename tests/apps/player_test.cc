// SPDX-License-Identifier: MIT
// A whole stream of apps/player: what is sent is shown, whatever the network does, with any
// composition that sends again; and what becomes of it with less.
#include <cstdlib>

#include "heddle/bus/profile.hh"
#include "io/folder.hh"
#include "stream.hh"
#include "support/drivers.hh"

namespace {

using namespace std::chrono_literals;
using player::stream_options;
using player::stream_result;

std::vector<std::byte> film(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  return bytes;
}

stream_options quick() {
  stream_options o;
  o.frames_per_s = 2000;
  o.frame_bytes = 4000;
  o.buffer = 20ms;
  return o;
}

stream_result stream(std::unique_ptr<heddle::driver> io, const stream_options& o,
                     std::size_t size = 300'000) {
  const std::vector<std::byte> file = film(size);
  heddle::runtime rt(std::move(io), heddle::test::one_worker());
  return rt.run(player::run_stream(o, file));
}

stream_result simulated(const stream_options& o, heddle::sim_options world = {},
                        std::size_t size = 300'000) {
  return stream(std::make_unique<heddle::sim_driver>(std::move(world)), o, size);
}

DRIVER_TEST(player, "a file is shown whole although datagrams are lost") {
  stream_options o = quick();
  o.loss = 0.1;
  const stream_result r = stream(make(), o);
  EXPECT_TRUE(r.whole()) << r.text();
  EXPECT_EQ(r.receiver.bytes, 300'000u);
  EXPECT_GT(r.sender.injected, 0u);
  EXPECT_GT(r.receiver.recovered, 0u);
  EXPECT_GT(r.sender.sent_again, 0u);
}

HEDDLE_TEST(player, "one seed gives one stream") {
  stream_options o = quick();
  o.loss = 0.05;
  const heddle::sim_options world{.seed = 5, .link = {.jitter = 500us, .loss = 0.05}};
  heddle::sim_options other = world;
  other.seed = 6;
  const std::string first = simulated(o, world).json();
  EXPECT_EQ(simulated(o, world).json(), first);
  EXPECT_NE(simulated(o, other).json(), first);
  ++o.seed;
  EXPECT_NE(simulated(o, world).json(), first);
}

HEDDLE_TEST(player, "without loss nothing is sent again, late or recovered") {
  const stream_result r = simulated(quick());
  EXPECT_TRUE(r.whole());
  EXPECT_EQ(r.sender.sent_again, 0u);
  EXPECT_EQ(r.sender.frames, 75u);
  EXPECT_EQ(r.receiver.frames, 75u);
  EXPECT_EQ(r.receiver.frames_late, 0u);
  EXPECT_EQ(r.receiver.recovered, 0u);
  EXPECT_EQ(r.receiver.out_of_order, 0u);
  EXPECT_EQ(r.receiver.foreign + r.sender.foreign, 0u);
}

HEDDLE_TEST(player, "each composition that sends again shows everything") {
  for (const char* protocols :
       {"acknowledgement", "acknowledgement,round_trip", "acknowledgement,flow_control",
        "acknowledgement,parity,guard", "acknowledgement,adaptation,parity,round_trip"}) {
    stream_options o = quick();
    o.protocols = protocols;
    const stream_result r = simulated(o, {.seed = 3, .link = {.jitter = 300us, .loss = 0.08}});
    EXPECT_TRUE(r.whole()) << protocols << '\n' << r.text();
    EXPECT_GT(r.sender.sent_again, 0u) << protocols;
  }
}

HEDDLE_TEST(player, "without acks parity mends single losses, and frames that miss more are lost") {
  stream_options o = quick();
  o.protocols = "parity,guard";
  const heddle::sim_options world{.seed = 2, .link = {.loss = 0.06}};
  const stream_result with = simulated(o, world);
  EXPECT_GT(with.receiver.recovered, 0u);
  EXPECT_GT(with.frames_lost(), 0u);
  EXPECT_FALSE(with.whole());
  EXPECT_EQ(with.sender.sent_again, 0u);
  o.protocols = "";
  const stream_result without = simulated(o, world);
  EXPECT_GT(without.frames_lost(), with.frames_lost());
  EXPECT_EQ(without.receiver.recovered, 0u);
}

HEDDLE_TEST(player, "a frame that comes behind its time is shown late, and none is lost for it") {
  stream_options o = quick();
  o.buffer = 1ms;
  const stream_result r = simulated(o, {.seed = 1, .link = {.latency = 5ms, .loss = 0.05}});
  EXPECT_TRUE(r.whole()) << r.text();
  EXPECT_GT(r.receiver.frames_late, 0u);
  EXPECT_LT(r.receiver.frames_late, r.receiver.frames);
}

HEDDLE_TEST(player, "segments that overtake each other are put in order") {
  const stream_result r = simulated(quick(), {.seed = 9, .link = {.jitter = 2ms}});
  EXPECT_TRUE(r.whole()) << r.text();
  EXPECT_GT(r.receiver.out_of_order, 0u);
}

HEDDLE_TEST(player, "where much is lost the source sends smaller frames") {
  stream_options o = quick();
  o.frames_per_s = 200;
  o.patience = 10s;
  // 300 frames of full size take longer than the second over which losses are averaged.
  const stream_result r = simulated(o, {.seed = 4, .link = {.loss = 0.3}}, 1'200'000);
  EXPECT_TRUE(r.whole()) << r.text();
  EXPECT_GT(r.sender.frames, 600u);
}

HEDDLE_TEST(player, "a stream through a network that loses everything ends, and says so") {
  stream_options o = quick();
  o.loss = 1;
  const stream_result r = simulated(o);
  EXPECT_FALSE(r.whole());
  EXPECT_EQ(r.receiver.frames, 0u);
  EXPECT_EQ(r.frames_lost(), r.sender.frames);
  EXPECT_GT(r.sender.abandoned, 0u);
  EXPECT_GE(r.took, o.silence_max);
}

HEDDLE_TEST(player, "an empty file is one frame without bytes") {
  const stream_result r = simulated(quick(), {}, 0);
  EXPECT_TRUE(r.whole());
  EXPECT_EQ(r.receiver.frames, 1u);
}

HEDDLE_TEST(player, "a transport without parity is not slower to end than its last frame") {
  stream_options o = quick();
  o.protocols = "";
  const stream_result r = simulated(o);
  EXPECT_TRUE(r.whole());
  EXPECT_LT(r.took, 500ms);
}

HEDDLE_TEST(player, "a run uses all 18 topics and 54 handlers") {
  heddle::test::driver_maker real("poll");
  const auto io = real();
  const heddle::test::folder folder(*io);
  const std::string path = folder / "profile";
  ::setenv("HEDDLE_PROFILE", path.c_str(), 1);
  stream_options o = quick();
  o.loss = 0.05;
  static_cast<void>(simulated(o));
  ::unsetenv("HEDDLE_PROFILE");
  const heddle::profile_data found = heddle::read_profile(path);
  EXPECT_EQ(found.topics.size(), 18u);
  EXPECT_EQ(found.handlers.size(), 54u);
}

}  // namespace

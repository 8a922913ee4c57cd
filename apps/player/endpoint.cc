// SPDX-License-Identifier: MIT
// Between the bus and the socket; and what options are refused.
#include "endpoint.hh"

#include <array>
#include <stdexcept>

#include "heddle/core/expected.hh"

namespace player {

namespace {

constexpr int failures_max = 16;  // of receiving, in a row

/// Numbers from 0 to 1 that a seed decides (splitmix64).
class chance {
 public:
  explicit chance(std::uint64_t seed) noexcept : state_(seed) {}
  double next() noexcept {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1.0p-53;
  }

 private:
  std::uint64_t state_;
};

}  // namespace

void check(const stream_options& o) {
  const auto want = [](bool ok, const char* option, const char* range) {
    if (!ok) throw std::invalid_argument(std::string(option) + " must be " + range);
  };
  want(o.frames_per_s >= 1 && o.frames_per_s <= 100'000, "frames_per_s", "1 to 100000");
  want(o.frame_bytes_max >= 64 && o.frame_bytes_max <= 16 << 20, "frame_bytes_max",
       "64 to 16777216");
  want(o.frame_bytes >= 64 && o.frame_bytes <= o.frame_bytes_max, "frame_bytes",
       "64 to frame_bytes_max");
  want(o.segment_bytes >= 64 && o.segment_bytes <= data_max, "segment_bytes", "64 to 1384");
  want(o.group_len >= 2 && o.group_len <= 16, "group_len", "2 to 16");
  want(o.window >= 1 && o.window <= o.window_max, "window", "1 to window_max");
  want(o.window_max <= 2048, "window_max", "at most 2048");
  want(o.tries_max >= 1 && o.tries_max <= 255, "tries_max", "1 to 255");
  want(o.outbox_max >= 16 && o.outbox_max <= 65536, "outbox_max", "16 to 65536");
  want(o.held_max >= 16, "held_max", "at least 16");
  want(o.frames_ahead_max >= 2, "frames_ahead_max", "at least 2");
  want(o.loss >= 0 && o.loss <= 1, "loss", "0 to 1");
  want(o.control_interval >= std::chrono::milliseconds(1), "control_interval", "at least 1 ms");
}

endpoint::endpoint(const stream_options& o, std::uint32_t session_id)
    : options((check(o), o)), session(session_id), outbox(o.outbox_max) {
  for (part& p : compose(*this, options.protocols)) add(std::move(p));
}

heddle::task<> endpoint::carry_out(heddle::udp_socket socket, heddle::address peer) {
  chance drawn(options.seed);
  std::array<std::byte, datagram_max> datagram;
  while (const auto s = co_await outbox.pop()) {
    if (drawn.next() < options.loss) {
      ++count.injected;
      continue;
    }
    const std::size_t size = encode(**s, datagram);
    // A peer that is gone, or a full buffer, is a lost datagram like any other.
    static_cast<void>(co_await heddle::as_expected(
        socket.send_to(peer, heddle::byte_view(datagram.data(), size))));
  }
}

heddle::task<> endpoint::carry_in(heddle::udp_socket socket) {
  std::array<std::byte, datagram_max> datagram;
  int failures = 0;
  for (;;) {
    const auto got = co_await heddle::as_expected(socket.receive_from(datagram));
    if (!got) {
      if (got.error() == std::errc::operation_canceled) co_return;
      // One that is interrupted, or finds no memory, is a lost datagram; a row of them is no luck.
      if (++failures == failures_max) throw heddle::failure(got.error(), "cannot receive");
      continue;
    }
    failures = 0;
    ++count.received;
    std::optional<segment> s = decode(std::span(datagram).first(got->size));
    if (s && !got->truncated) {
      static_cast<void>(enter<segment_from_net>(*s));
    } else {
      ++count.foreign;
    }
  }
}

}  // namespace player

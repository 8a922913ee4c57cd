// SPDX-License-Identifier: MIT
// Estimates how long an ack takes, and from that after which time none will come any more: a
// smoothed mean and deviation, as TCP has them (RFC 6298). Segments that were sent twice do not
// count, since nobody knows which of the two was acknowledged.
#include <algorithm>

#include "endpoint.hh"

namespace player {
namespace {

using namespace std::chrono_literals;

constexpr heddle::nanoseconds time_out_min = 20ms;   // above it an ack's delay and a late clock
constexpr heddle::nanoseconds time_out_max = 250ms;  // a frame is of no use much later

class round_trip final : public micro_protocol {
 public:
  explicit round_trip(endpoint& e) : here_(e) {
    e.bus.bind<segment_to_net, &round_trip::stamp>(this, 10);
    e.bus.bind<segment_acked, &round_trip::learn>(this, 20);
    e.bus.bind<segment_lost, &round_trip::back_off>(this, 60);
    e.bus.bind<control_clock, &round_trip::publish>(this, 20);
  }

 private:
  void stamp(outgoing& s) { s.sent = heddle::clock::now(); }

  void learn(const outgoing& s) {
    if (s.again) return;
    const heddle::nanoseconds took = heddle::clock::now() - s.sent;
    if (mean_ == 0ns) {
      mean_ = took;
      deviation_ = took / 2;
    } else {
      deviation_ += (std::chrono::abs(took - mean_) - deviation_) / 4;
      mean_ += (took - mean_) / 8;
    }
    doublings_ = 0;
  }

  void back_off(outgoing&) { lost_ = true; }

  void publish() {
    if (std::exchange(lost_, false)) doublings_ = std::min(doublings_ + 1, 2);
    if (mean_ == 0ns) return;
    here_.time_out =
        std::clamp((mean_ + 4 * deviation_) * (1 << doublings_), time_out_min, time_out_max);
  }

  endpoint& here_;
  heddle::nanoseconds mean_{};
  heddle::nanoseconds deviation_{};
  int doublings_ = 0;
  bool lost_ = false;
};

}  // namespace

part make_round_trip(endpoint& e) { return std::make_unique<round_trip>(e); }

}  // namespace player

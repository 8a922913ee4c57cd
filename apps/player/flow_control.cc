// SPDX-License-Identifier: MIT
// Windowed flow control: so many segments are under way at most. The window grows with what is
// acknowledged, doubles at first, and halves with what is lost, once a round trip.
#include <algorithm>
#include <deque>

#include "endpoint.hh"

namespace player {
namespace {

constexpr std::uint32_t window_min = 16;  // a video would rather lose than wait

class flow_control final : public micro_protocol {
 public:
  explicit flow_control(endpoint& e) : here_(e) {
    e.bus.bind<session_opened, &flow_control::start>(this, 20);
    e.bus.bind<segment_from_user, &flow_control::hold>(this, 40);
    e.bus.bind<segment_to_net, &flow_control::count>(this, 20);
    e.bus.bind<segment_acked, &flow_control::grow>(this, 50);
    e.bus.bind<segment_lost, &flow_control::shrink>(this, 50);
    start();
  }

 private:
  void start() {
    window_ = here_.options.window;
    threshold_ = here_.options.window_max;
    credit_ = under_way_ = here_.held = 0;
    held_.clear();
  }

  void hold(outgoing& s) {
    if (under_way_ < window_ && held_.empty()) [[likely]]
      return;
    s.held = true;
    held_.emplace_back(s);  // bounded: the source pauses at held_max / 2
    ++here_.held;
  }

  void count(outgoing& s) {
    if (s.kind == segment_kind::data) ++under_way_;
  }

  void grow(const outgoing&) {
    if (under_way_ > 0) --under_way_;
    if (window_ < threshold_) {
      ++window_;
    } else if (++credit_ >= window_) {
      credit_ = 0;
      window_ = std::min(window_ + 1, here_.options.window_max);
    }
    release();
  }

  void shrink(outgoing&) {
    if (under_way_ > 0) --under_way_;
    const heddle::time_point now = heddle::clock::now();
    if (now - shrunk_at_ > here_.time_out) {
      shrunk_at_ = now;
      window_ = threshold_ = std::max(window_ / 2, std::min(window_min, here_.options.window));
    }
    release();
  }

  void release() {
    while (!held_.empty() && under_way_ < window_) {
      const kept s = std::move(held_.front());
      held_.pop_front();
      --here_.held;
      s->held = false;
      here_.bus.raise<segment_to_net>(*s);
    }
  }

  endpoint& here_;
  std::uint32_t window_ = window_min;
  std::uint32_t threshold_ = 0;  // from here on it grows by one a round trip
  std::uint32_t credit_ = 0;
  std::uint32_t under_way_ = 0;
  heddle::time_point shrunk_at_;
  std::deque<kept> held_;
};

}  // namespace

part make_flow_control(endpoint& e) { return std::make_unique<flow_control>(e); }

}  // namespace player

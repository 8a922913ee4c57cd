// SPDX-License-Identifier: MIT
// Tells the others how much is lost, as a mean of the last second or so, weighted to the present.
#include "endpoint.hh"

namespace player {
namespace {

constexpr std::uint32_t enough = 32;  // segments before a share of them says anything

class adaptation final : public micro_protocol {
 public:
  explicit adaptation(endpoint& e) : here_(e) {
    e.bus.bind<segment_acked, &adaptation::count_acked>(this, 80);
    e.bus.bind<segment_lost, &adaptation::count_lost>(this, 80);
    e.bus.bind<control_clock, &adaptation::report>(this, 60);
  }

 private:
  void count_acked(const outgoing&) { ++acked_; }
  void count_lost(outgoing&) { ++lost_; }

  void report() {
    if (acked_ + lost_ < enough) return;
    const double now = static_cast<double>(lost_) / (acked_ + lost_);
    loss_ += (now - loss_) / 4;
    acked_ = lost_ = 0;
    here_.bus.raise<adapt>(network_report{loss_});
  }

  endpoint& here_;
  std::uint32_t acked_ = 0;
  std::uint32_t lost_ = 0;
  double loss_ = 0;
};

}  // namespace

part make_adaptation(endpoint& e) { return std::make_unique<adaptation>(e); }

}  // namespace player

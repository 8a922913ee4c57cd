// SPDX-License-Identifier: MIT
// Numbers segments, and drops those that have come before.
#include <bitset>

#include "endpoint.hh"

namespace player {
namespace {

constexpr std::uint32_t remembered = 8192;  // numbers; an older segment counts as a duplicate

class sequencing final : public micro_protocol {
 public:
  explicit sequencing(endpoint& e) : here_(e) {
    e.bus.bind<session_opened, &sequencing::start>(this, 10);
    e.bus.bind<segment_from_user, &sequencing::number>(this, 20);
    e.bus.bind<segment_from_net, &sequencing::drop_known>(this, 20);
    e.bus.bind<segment_to_user, &sequencing::note_order>(this, 10);
  }

 private:
  void start() {
    next_ = end_ = highest_ = 0;
    seen_.reset();
  }

  void number(outgoing& s) { s.sequence = next_++; }

  heddle::flow drop_known(segment& s) {
    if (s.kind != segment_kind::data) return heddle::flow::go_on;
    const std::uint32_t n = s.sequence;
    if (n >= end_) {
      // A jump beyond what is remembered is no segment of ours.
      if (n - end_ >= remembered) return refuse(here_.count.foreign);
      for (; end_ <= n; ++end_) seen_.reset(end_ % remembered);
    } else if (end_ - n > remembered || seen_.test(n % remembered)) {
      return refuse(here_.count.duplicates);
    }
    seen_.set(n % remembered);
    return heddle::flow::go_on;
  }
  static heddle::flow refuse(std::uint64_t& counter) {
    ++counter;
    return heddle::flow::halt;
  }

  void note_order(segment& s) {
    if (s.sequence < highest_) ++here_.count.out_of_order;
    highest_ = std::max(highest_, s.sequence);
  }

  endpoint& here_;
  std::uint32_t next_ = 0;
  std::uint32_t end_ = 0;  // the first number that has not come
  std::uint32_t highest_ = 0;
  std::bitset<remembered> seen_;
};

}  // namespace

part make_sequencing(endpoint& e) { return std::make_unique<sequencing>(e); }

}  // namespace player

// SPDX-License-Identifier: MIT
// The driver of the transport: passes segments to the outbox and from the network to whom they
// concern, and turns the control clock.
#include "endpoint.hh"

namespace player {
namespace {

constexpr int farewells = 3;  // of a session's end, which nobody acknowledges

class transmission final : public micro_protocol {
 public:
  explicit transmission(endpoint& e) : here_(e) {
    e.bus.bind<session_opened, &transmission::start>(this, 40);
    e.bus.bind<control_clock, &transmission::plan_next>(this, 90);
    e.bus.bind<segment_from_user, &transmission::send>(this, 90);
    e.bus.bind<segment_to_net, &transmission::hand_over>(this, 90);
    e.bus.bind<segment_from_net, &transmission::deliver>(this, 90);
    e.bus.bind<session_closed, &transmission::stop>(this, 50);
  }

 private:
  void start() { plan_next(); }

  void plan_next() {
    if (!stopped_) next_ = here_.after<control_clock>(here_.options.control_interval);
  }

  void send(outgoing& s) {
    if (!s.held) here_.bus.raise<segment_to_net>(s);
  }

  void hand_over(outgoing& s) {
    if (s.kind == segment_kind::data) ++(s.again ? here_.count.sent_again : here_.count.segments);
    if (!here_.outbox.try_push(kept(s))) [[unlikely]]
      ++here_.count.overflows;
  }

  heddle::flow deliver(segment& s) {
    if (s.kind == segment_kind::data) {
      here_.bus.raise<segment_to_user>(s);
    } else if (s.kind == segment_kind::ack) {
      here_.bus.raise<ack_from_net>(s);
    } else if (s.kind == segment_kind::end) {
      here_.peer_ended = true;
    }
    return heddle::flow::go_on;
  }

  void stop() {
    if (std::exchange(stopped_, true)) return;
    next_.cancel();
    const kept s = here_.segments.make();
    s->kind = segment_kind::end;
    for (int i = 0; i < farewells; ++i) here_.bus.raise<segment_to_net>(*s);
  }

  endpoint& here_;
  heddle::delayed next_;
  bool stopped_ = false;
};

}  // namespace

part make_transmission(endpoint& e) { return std::make_unique<transmission>(e); }

}  // namespace player

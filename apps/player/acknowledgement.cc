// SPDX-License-Identifier: MIT
// Positive acknowledgement: the receiver says which segments have come, a few at a time, and the
// sender sends again what is missing: when three later ones have come, or none in time.
#include <algorithm>
#include <array>
#include <bit>
#include <bitset>

#include "endpoint.hh"

namespace player {
namespace {

constexpr std::uint32_t places = 2048;  // of segments that wait for an ack, and window_max's limit
constexpr std::uint32_t told = 1024;  // segments behind the first missing one that an ack tells of
constexpr std::uint32_t overtaken = 3;  // later segments that came: then it is lost, not late

/// What an ack carries; bit n is for its sequence + 1 + n.
using came_bits = std::array<std::uint64_t, told / 64>;
static_assert(std::endian::native == std::endian::little, "the bits travel as they are in memory");

class acknowledgement final : public micro_protocol {
 public:
  explicit acknowledgement(endpoint& e)
      : here_(e), waiting_(places), bits_(e.options.outbox_max + 2) {
    e.sends_again = true;
    e.bus.bind<segment_to_net, &acknowledgement::remember>(this, 60);
    e.bus.bind<segment_from_net, &acknowledgement::note>(this, 15);
    e.bus.bind<ack_due, &acknowledgement::send_ack>(this, 50);
    e.bus.bind<ack_from_net, &acknowledgement::take_ack>(this, 50);
    e.bus.bind<control_clock, &acknowledgement::look_for_lost>(this, 30);
    e.bus.bind<segment_lost, &acknowledgement::send_again>(this, 90);
    e.bus.bind<session_closed, &acknowledgement::stop>(this, 30);
  }

 private:
  // The sender.
  [[nodiscard]] kept& place_of(std::uint32_t n) { return waiting_[n % places]; }
  [[nodiscard]] bool waits(std::uint32_t n) {
    const kept& s = place_of(n);
    return s && s->sequence == n;
  }

  void remember(outgoing& s) {
    if (s.kind != segment_kind::data) return;
    s.settled = first_;
    ++s.tries;
    if (s.again) return;
    end_ = std::max(end_, s.sequence + 1);
    kept& p = place_of(s.sequence);
    if (p) [[unlikely]]
      give_up(p);  // so old that its place is needed
    p = kept(s);
    ++here_.unacked;
  }

  void take_ack(const segment& ack) {
    if (ack.sequence > end_ || end_ - ack.sequence > places) return;  // of what was never sent
    for (; first_ < ack.sequence; ++first_) acked(first_);
    came_bits came = {};
    if (ack.payload.size() != sizeof came) return;
    std::ranges::copy(ack.payload, std::as_writable_bytes(std::span(came)).begin());
    std::uint32_t later = 0;
    for (std::uint32_t bit = std::min(told, end_ - ack.sequence); bit-- > 0;) {
      const std::uint32_t n = ack.sequence + 1 + bit;
      if (n >= end_) continue;
      if ((came[bit / 64] >> (bit % 64) & 1) != 0) {
        ++later;
        acked(n);
      } else if (later >= overtaken) {
        overtaken_by_others(n);
      }
    }
    if (later >= overtaken && ack.sequence < end_) overtaken_by_others(ack.sequence);
  }

  void acked(std::uint32_t n) {
    if (!waits(n)) return;
    const kept s = std::move(place_of(n));
    --here_.unacked;
    here_.bus.raise<segment_acked>(*s);
  }

  /// Once for the first sending; later ones have their time-out.
  void overtaken_by_others(std::uint32_t n) {
    if (waits(n) && place_of(n)->tries == 1) lose(n);
  }

  void look_for_lost() {
    const heddle::time_point now = heddle::clock::now();
    // Of those further on no ack could have told.
    const std::uint32_t end = std::min(end_, first_ + 1 + told);
    for (std::uint32_t n = first_; n < end; ++n) {
      if (waits(n) && now - sent_at(*place_of(n)) > here_.time_out) lose(n);
    }
    while (first_ < end_ && !place_of(first_)) ++first_;
  }
  [[nodiscard]] static heddle::time_point sent_at(outgoing& s) {
    // Without round_trip nobody has stamped it: it counts from the first look.
    if (s.sent == heddle::time_point()) s.sent = heddle::clock::now();
    return s.sent;
  }

  void lose(std::uint32_t n) {
    const kept s = place_of(n);
    here_.bus.raise<segment_lost>(*s);
  }

  void send_again(outgoing& s) {
    kept& p = place_of(s.sequence);
    if (!p.is(s)) return;  // given up meanwhile
    if (s.tries >= here_.options.tries_max) {
      give_up(p);
      return;
    }
    s.again = true;
    s.sent = {};
    here_.bus.raise<segment_to_net>(s);
  }

  void give_up(kept& p) {
    p = {};
    --here_.unacked;
    ++here_.count.abandoned;
  }

  // The receiver. It stands before sequencing: a duplicate says that the ack was lost.
  heddle::flow note(segment& s) {
    if (s.kind != segment_kind::data) return heddle::flow::go_on;
    // What the sender gave up will not come.
    if (!s.recovered && s.settled <= s.sequence && s.settled > next_) [[unlikely]] {
      if (s.settled - next_ >= places) came_.reset();  // a stranger's number must not be counted to
      for (; next_ < s.settled && came_.any(); ++next_) came_.reset(next_ % places);
      next_ = s.settled;
    }
    if (s.sequence >= next_ && s.sequence - next_ < places) came_.set(s.sequence % places);
    for (; came_.test(next_ % places); ++next_) came_.reset(next_ % places);
    plan_ack();
    return heddle::flow::go_on;
  }

  void plan_ack() {
    if (ack_planned_) return;
    ack_planned_ = true;
    clock_ = here_.after<ack_due>(here_.options.ack_delay);
  }

  void send_ack() {
    ack_planned_ = false;
    const kept s = here_.segments.make();
    s->kind = segment_kind::ack;
    s->sequence = next_;
    came_bits& bits = bits_[next_bits_++ % bits_.size()];  // stay until the outbox lets go of them
    bits = {};
    for (std::uint32_t bit = 0; bit < told; ++bit)
      bits[bit / 64] |= std::uint64_t{came_.test((next_ + 1 + bit) % places)} << (bit % 64);
    s->payload = std::as_bytes(std::span(bits));
    ++here_.count.acks;
    here_.bus.raise<segment_to_net>(*s);
  }

  void stop() {
    clock_.cancel();
    if (ack_planned_) send_ack();  // so that the sender need not wait
  }

  endpoint& here_;
  std::vector<kept> waiting_;  // for an ack; empty: nobody
  std::uint32_t first_ = 0;    // all before it are acknowledged or given up
  std::uint32_t end_ = 0;      // none from here on was sent
  std::uint32_t next_ = 0;     // all before it have come
  std::bitset<places> came_;   // those behind it, modulo their number
  std::vector<came_bits> bits_;
  std::size_t next_bits_ = 0;
  bool ack_planned_ = false;
  heddle::delayed clock_;
};

}  // namespace

part make_acknowledgement(endpoint& e) { return std::make_unique<acknowledgement>(e); }

}  // namespace player

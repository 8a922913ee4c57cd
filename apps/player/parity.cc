// SPDX-License-Identifier: MIT
// Forward error correction: behind each group of segments goes their parity, from which the other
// side makes any single one that was lost. More is lost: shorter groups.
//
// The sender keeps references to a group's members and makes the parity later, from the queue. The
// receiver keeps of each group only the sum (exclusive or) of what came, so that a group with one
// member missing is that member.
#include <algorithm>
#include <array>
#include <bit>

#include "endpoint.hh"

namespace player {
namespace {

constexpr std::size_t group_max = 16;      // bits of incoming_group::members
constexpr std::size_t outgoing_max = 64;   // complete groups whose parity is not made yet
constexpr std::size_t incoming_max = 128;  // groups of which something came

/// What a parity segment sums up of its members: a few fields, then the payload.
struct sum {
  std::uint32_t frame = 0;
  std::uint32_t offset = 0;
  std::uint32_t total = 0;
  std::uint16_t size = 0;
  std::uint16_t last = 0;
  std::array<std::byte, data_max> payload = {};

  void add(const segment& s) noexcept {
    frame ^= s.frame;
    offset ^= s.offset;
    total ^= s.total;
    size = static_cast<std::uint16_t>(size ^ s.payload.size());
    last = static_cast<std::uint16_t>(last ^ (s.last ? 1 : 0));
    add_payload(s.payload);
  }
  void add(const sum& other) noexcept {
    frame ^= other.frame;
    offset ^= other.offset;
    total ^= other.total;
    size ^= other.size;
    last ^= other.last;
    add_payload(other.payload);
  }

 private:
  void add_payload(std::span<const std::byte> bytes) noexcept {
    const std::size_t len = std::min(bytes.size(), payload.size());
    for (std::size_t i = 0; i < len; ++i) payload[i] ^= bytes[i];
  }
};
static_assert(sizeof(sum) == payload_max);
static_assert(std::endian::native == std::endian::little, "a sum travels as it stands in memory");

struct outgoing_group {
  std::uint32_t first = 0;
  std::uint32_t len = 0;
  std::array<kept, group_max> members = {};
};

struct incoming_group {
  std::uint32_t first = 0;
  std::uint32_t came = 0;     // a bit for each member
  std::uint32_t members = 0;  // all bits, once the parity says how many there are
  sum left = {};
};

class parity final : public micro_protocol {
 public:
  explicit parity(endpoint& e)
      : here_(e), wanted_len_(e.options.group_len), sums_(e.options.outbox_max + 2) {
    e.bus.bind<session_opened, &parity::start>(this, 30);
    e.bus.bind<segment_from_user, &parity::assign>(this, 30);
    e.bus.bind<segment_to_net, &parity::keep>(this, 30);
    e.bus.bind<parity_due, &parity::send>(this, 50);
    e.bus.bind<segment_from_net, &parity::take>(this, 60);
    e.bus.bind<adapt, &parity::resize>(this, 30);
    start();
  }

 private:
  void start() {
    assigned_ = group_ = 0;
    filling_ = sent_ = 0;
    groups_.resize(outgoing_max);
    incoming_.clear();
  }

  // A group ends when it is full, and with a frame when it is half full: the frame should not wait
  // for what comes behind it.
  void assign(outgoing& s) {
    if (assigned_ == 0) group_ = s.sequence;
    s.group = group_;
    ++assigned_;
    const bool frame_ends = s.offset + s.payload.size() == s.total;
    s.group_end =
        assigned_ >= wanted_len_ || (frame_ends && (s.last || 2 * assigned_ >= wanted_len_));
    if (s.group_end) assigned_ = 0;
  }

  void keep(outgoing& s) {
    if (s.kind != segment_kind::data || s.again) return;
    outgoing_group& g = groups_[filling_ % outgoing_max];
    if (g.len == 0) g.first = s.group;
    if (g.len < group_max) g.members[g.len++] = kept(s);
    if (!s.group_end) return;
    if (++filling_ - sent_ == outgoing_max) ++sent_;  // the oldest goes without parity
    groups_[filling_ % outgoing_max].len = 0;
    here_.post<parity_due>();
  }

  void send() {
    for (; sent_ != filling_; ++sent_) {
      outgoing_group& g = groups_[sent_ % outgoing_max];
      sum& all = sums_[next_sum_++ % sums_.size()];  // stays until the outbox has let go of it
      all = {};
      for (kept& m : std::span(g.members).first(g.len)) {
        all.add(*m);
        m = {};
      }
      const kept s = here_.segments.make();
      s->kind = segment_kind::parity;
      s->group = g.first;
      s->group_len = static_cast<std::uint8_t>(g.len);
      s->payload = std::as_bytes(std::span(&all, 1));
      ++here_.count.parities;
      here_.bus.raise<segment_to_net>(*s);
    }
  }

  heddle::flow take(segment& s) {
    if (s.kind == segment_kind::data) {
      const std::uint32_t index = s.sequence - s.group;
      if (index >= group_max) return heddle::flow::go_on;
      incoming_group& g = group_of(s.group);
      if (s.recovered || (g.came >> index & 1) != 0) return heddle::flow::go_on;
      g.came |= 1u << index;
      g.left.add(s);
      recover(g);
    } else if (s.kind == segment_kind::parity && s.payload.size() == sizeof(sum)) {
      incoming_group& g = group_of(s.group);
      if (g.members != 0 || s.group_len == 0 || s.group_len > group_max) return heddle::flow::go_on;
      g.members = (1u << s.group_len) - 1;
      sum received;
      std::ranges::copy(s.payload, std::as_writable_bytes(std::span(&received, 1)).begin());
      g.left.add(received);
      recover(g);
    }
    return heddle::flow::go_on;
  }

  void recover(incoming_group& g) {
    const std::uint32_t missing = g.members & ~g.came;
    if (!std::has_single_bit(missing)) return;
    g.came |= missing;
    const sum& found = g.left;
    if (found.size > sizeof(sum::payload) || found.offset > found.total ||
        found.size > found.total - found.offset)
      return;  // the group's members were not of one sender
    segment s;
    s.recovered = true;
    s.session = here_.session;
    s.sequence = g.first + static_cast<std::uint32_t>(std::countr_zero(missing));
    s.group = g.first;
    s.frame = found.frame;
    s.offset = found.offset;
    s.total = found.total;
    s.last = found.last != 0;
    s.payload = std::span(found.payload).first(found.size);
    ++here_.count.recovered;
    static_cast<void>(here_.bus.raise<segment_from_net>(s));
  }

  incoming_group& group_of(std::uint32_t first) {
    for (std::size_t i = incoming_.size(); i-- > 0;)
      if (incoming_[i]->first == first) return *incoming_[i];
    // The oldest makes room; its memory is used again.
    auto made = std::make_unique<incoming_group>();
    if (incoming_.size() == incoming_max) {
      made = std::move(incoming_.front());
      incoming_.erase(incoming_.begin());
      *made = {};
    }
    made->first = first;
    incoming_.push_back(std::move(made));
    return *incoming_.back();
  }

  void resize(const network_report& r) {
    const std::uint32_t full = here_.options.group_len;
    const std::uint32_t wanted = r.loss > 0.05 ? full / 2 : r.loss > 0.01 ? full : 2 * full;
    wanted_len_ = std::clamp<std::uint32_t>(wanted, 2, group_max);
  }

  endpoint& here_;
  std::uint32_t wanted_len_;
  std::uint32_t assigned_ = 0;  // to the group that is being numbered
  std::uint32_t group_ = 0;     // its first sequence
  std::size_t filling_ = 0;     // of groups_, modulo its size
  std::size_t sent_ = 0;        // groups before it are done
  std::vector<outgoing_group> groups_;
  std::vector<sum> sums_;
  std::size_t next_sum_ = 0;
  std::vector<std::unique_ptr<incoming_group>> incoming_;
};

}  // namespace

part make_parity(endpoint& e) { return std::make_unique<parity>(e); }

}  // namespace player

// SPDX-License-Identifier: MIT
// Assembles the packets of a trace into connections: offsets without wrap, repeated segments, bytes
// in flight, round trips and pauses.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>

#include "heddle/base/error.hh"
#include "trace/tcp_trace.hh"

namespace heddle::trace {
namespace {

constexpr tcp::instant pause_us_min = 20'000;
constexpr std::size_t pauses_max = 100;

/// Sequence numbers of one direction as offsets. The first that is seen is 0.
struct unwrapper {
  std::optional<tcp::sequence> last;
  stream_offset at = 0;
  stream_offset operator()(tcp::sequence s) {
    if (!last) last = s;
    at += static_cast<std::int32_t>(s - *last);
    last = s;
    return at;
  }
};

struct waiting_segment {
  tcp::instant at;
  stream_offset end;
  bool again;
};

/// A direction while it is read.
struct side {
  unwrapper offset;
  int shift = -1;  // scale of the windows that this direction's sender offers; -1: no SYN was seen
  stream_offset sent_to = 0, acked_to = 0;
  bool began = false;
  std::deque<waiting_segment> waiting;
  std::vector<std::uint32_t> rtts;
  tcp::instant last_sent = 0;
};

struct reading {
  traced_connection c;
  side forth, back;
};

using flow_key = std::tuple<std::array<std::uint8_t, 16>, std::uint16_t,
                            std::array<std::uint8_t, 16>, std::uint16_t>;

flow_key key_of(const tcp::endpoint& a, const tcp::endpoint& b) {
  return {a.address.bytes, a.port, b.address.bytes, b.port};
}

void note_flight(traced_direction& d, const side& s, tcp::instant at) {
  const std::int64_t bytes = std::max<std::int64_t>(s.sent_to - s.acked_to, 0);
  if (!d.flight.empty() && d.flight.back().at == at) {
    d.flight.back().bytes = bytes;
  } else {
    d.flight.push_back({at, bytes});
  }
}

void take_data(traced_direction& d, side& s, tcp::instant at, const tcp::traced_segment& x) {
  stream_offset begin = s.offset(x.s.seq);
  if (x.s.has(tcp::flag_syn)) ++begin;  // SYN has a number before the first byte
  if (!s.began) {
    s.began = true;
    s.sent_to = s.acked_to = begin;
  }
  if (x.payload_bytes == 0) return;
  const stream_offset end = begin + x.payload_bytes;
  const bool again = begin < s.sent_to;
  // A pause ends here if something was in flight all the while.
  if (s.last_sent != 0 && at - s.last_sent >= pause_us_min && s.sent_to > s.acked_to)
    d.pauses.push_back({s.last_sent, at});
  s.last_sent = at;
  d.data.push_back({at, begin, end, again});
  ++d.segments;
  if (again) {
    ++d.segments_again;
    d.bytes_again += static_cast<std::uint64_t>(std::min(end, s.sent_to) - begin);
    for (waiting_segment& w : s.waiting)
      if (w.end > begin && w.end <= end) w.again = true;
  } else {
    s.waiting.push_back({at, end, false});
  }
  if (end > s.sent_to) d.bytes += static_cast<std::uint64_t>(end - std::max(begin, s.sent_to));
  s.sent_to = std::max(s.sent_to, end);
  note_flight(d, s, at);
}

void take_ack(traced_direction& d, side& sender, const side& receiver, tcp::instant at,
              const tcp::traced_segment& x) {
  if (!x.s.has(tcp::flag_ack) || x.s.has(tcp::flag_rst)) return;
  const bool first = !sender.offset.last.has_value();
  unwrapper copy = sender.offset;  // an ACK must not move what the sender's own numbers count from
  const stream_offset upto = copy(x.s.ack);
  if (first) {
    sender.offset.last = x.s.ack;
    sender.began = true;
    sender.sent_to = sender.acked_to = upto;
  }
  traced_ack a{at, upto, -1, {}};
  const bool syn = x.s.has(tcp::flag_syn);
  if (receiver.shift >= 0 || syn)
    a.window_end = upto + (std::int64_t{x.s.window} << (syn ? 0 : receiver.shift));
  for (std::size_t i = 0; i != x.s.sack_count; ++i) {
    unwrapper from = sender.offset;
    const stream_offset begin = from(x.s.sacks[i].begin);
    const stream_offset end =
        begin + static_cast<std::int32_t>(x.s.sacks[i].end - x.s.sacks[i].begin);
    if (end > upto && begin < end) a.sacks.push_back({begin, end});
  }
  d.acks.push_back(std::move(a));
  std::optional<waiting_segment> newest;
  while (!sender.waiting.empty() && sender.waiting.front().end <= upto) {
    newest = sender.waiting.front();
    sender.waiting.pop_front();
  }
  // An ACK measures the path by the newest segment that it covers, if that was sent once.
  if (newest && !newest->again)
    sender.rtts.push_back(
        static_cast<std::uint32_t>(std::min<tcp::instant>(at - newest->at, UINT32_MAX)));
  if (upto > sender.acked_to) {
    sender.acked_to = upto;
    note_flight(d, sender, at);
  }
}

void finish(traced_direction& d, side& s) {
  std::sort(d.pauses.begin(), d.pauses.end(), [](const traced_pause& a, const traced_pause& b) {
    return a.to - a.from > b.to - b.from;
  });
  if (d.pauses.size() > pauses_max) d.pauses.resize(pauses_max);
  if (s.rtts.empty()) return;
  std::sort(s.rtts.begin(), s.rtts.end());
  d.rtt_min_us = s.rtts.front();
  d.rtt_median_us = s.rtts[s.rtts.size() / 2];
}

class reader {
 public:
  void take(const tcp::traced_packet& p, tcp_trace& t) {
    ++t.packets;
    tcp::traced_segment x;
    tcp::pcap_note n;
    if (tcp::parse_traced(p, x)) {
      take_segment(p.at, x);
    } else if (tcp::parse_traced(p, n)) {
      take_note(p.at, n);
    } else {
      ++t.others;
    }
  }
  void finish_all(tcp_trace& t) {
    for (reading& r : all_) {
      finish(r.c.forth, r.forth);
      finish(r.c.back, r.back);
      t.connections.push_back(std::move(r.c));
    }
  }

 private:
  /// The connection of a packet, and whether the packet goes in the direction `forth`.
  std::pair<reading*, bool> find(const tcp::endpoint& from, const tcp::endpoint& to) {
    if (const auto at = table_.find(key_of(from, to)); at != table_.end())
      return {&all_[at->second], true};
    if (const auto at = table_.find(key_of(to, from)); at != table_.end())
      return {&all_[at->second], false};
    return {nullptr, true};
  }
  void take_segment(tcp::instant at, const tcp::traced_segment& x) {
    auto [r, forth] = find(x.s.source, x.s.destination);
    const bool opens = x.s.has(tcp::flag_syn) && !x.s.has(tcp::flag_ack);
    // A SYN on the same ports begins another connection.
    if (r != nullptr && opens && (r->c.reset || r->forth.sent_to > 0)) {
      table_.erase(key_of(r->c.forth.from, r->c.forth.to));
      r = nullptr;
    }
    if (r == nullptr) {
      // Without a SYN the side with the lower port is taken for the server.
      const bool answers =
          x.s.has(tcp::flag_syn) ? x.s.has(tcp::flag_ack) : x.s.source.port < x.s.destination.port;
      forth = !answers;
      const tcp::endpoint& from = forth ? x.s.source : x.s.destination;
      const tcp::endpoint& to = forth ? x.s.destination : x.s.source;
      table_[key_of(from, to)] = all_.size();
      r = &all_.emplace_back();
      r->c.forth.from = r->c.back.to = from;
      r->c.forth.to = r->c.back.from = to;
      r->c.first = at;
      r->c.opened = x.s.has(tcp::flag_syn);
    }
    r->c.last = at;
    if (x.s.has(tcp::flag_rst)) r->c.reset = true;
    side& own = forth ? r->forth : r->back;
    side& other = forth ? r->back : r->forth;
    if (x.s.has(tcp::flag_syn)) own.shift = std::max<int>(x.s.window_scale, 0);
    take_data(forth ? r->c.forth : r->c.back, own, at, x);
    take_ack(forth ? r->c.back : r->c.forth, other, own, at, x);
  }
  void take_note(tcp::instant at, const tcp::pcap_note& n) {
    const auto [r, forth] = find(n.between.local, n.between.remote);
    if (r == nullptr) return;
    (forth ? r->c.forth : r->c.back)
        .windows.push_back({at, n.window_bytes, n.threshold_bytes, n.recovering});
  }

  std::deque<reading> all_;
  std::map<flow_key, std::size_t> table_;
};

}  // namespace

tcp_trace read_tcp_trace(std::span<const std::byte> file, const std::string& name) {
  tcp_trace t;
  tcp::pcap_reader in(file);
  reader r;
  tcp::traced_packet p;
  while (in.next(p)) r.take(p, t);
  t.others += in.passed_over();
  t.packets += in.passed_over();
  if (!in.trouble().empty()) {
    if (t.packets == 0)
      throw failure(std::make_error_code(std::errc::invalid_argument), name + ": " + in.trouble());
    t.trouble = in.trouble();
  }
  r.finish_all(t);
  return t;
}

}  // namespace heddle::trace

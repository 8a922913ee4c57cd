// SPDX-License-Identifier: MIT
// Finds the connections whose bytes have waited longest, and writes reports.
#include "heddle/tcp/report.hh"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "heddle/probe/json.hh"
#include "tcp/core.hh"

namespace heddle::tcp {

namespace {

/// Finds the next deadline of a connection.
void find_timer(const core& k, const pcb& c, instant now, connection_info& i) noexcept {
  instant due = never_due;
  const auto take = [&](std::string_view name, instant at) {
    if (at >= due) return;
    due = at;
    i.timer = name;
    i.timer_in_us = at - now;
  };
  if (c.has(pcb_ack_later)) take("ack", time_of(c.ack_due, now));
  if (c.has(pcb_idle_timer))
    take(c.now == state::fin_wait_2 ? "fin_wait"
         : c.has(pcb_keepalive)     ? "keepalive"
                                    : "syn",
         time_of(c.idle_due, now));
  if (c.traffic == no_index) return;
  const traffic& t = k.traffics[c.traffic];
  static constexpr std::string_view names[] = {"", "timeout", "tail_probe", "reorder",
                                               "window_probe"};
  if (t.timer != send_timer::none) take(names[static_cast<std::size_t>(t.timer)], t.send_due);
}

std::string number(std::uint64_t n) { return std::to_string(n); }

std::string time_text(std::int64_t us) {
  char text[32];
  const bool negative = us < 0;
  const double size = static_cast<double>(negative ? -us : us);
  if (size < 1e3) {
    std::snprintf(text, sizeof text, "%s%.0f us", negative ? "-" : "", size);
  } else if (size < 1e6) {
    std::snprintf(text, sizeof text, "%s%.1f ms", negative ? "-" : "", size / 1e3);
  } else {
    std::snprintf(text, sizeof text, "%s%.1f s", negative ? "-" : "", size / 1e6);
  }
  return text;
}

std::string endpoint_text(const endpoint& e) {
  const std::string host = e.address.text();
  return (e.address.is_v4() ? host : "[" + host + "]") + ":" + number(e.port);
}

std::string row(const connection_info& i) {
  char text[256];
  std::snprintf(
      text, sizeof text, "  %-9s %-22s %-12s %9u %9u %9u %9u %9s  %s%s\n",
      i.waited_us == 0 ? "-" : time_text(i.waited_us).c_str(),
      endpoint_text(i.between.remote).c_str(), std::string(name_of(i.now)).c_str(), i.window_bytes,
      i.queued_bytes, i.in_flight_bytes, i.unread_bytes,
      i.round_trip_us == 0 ? "-" : time_text(i.round_trip_us).c_str(),
      i.timer.empty() ? "-" : (std::string(i.timer) + " in " + time_text(i.timer_in_us)).c_str(),
      i.recovering ? ", recovering" : "");
  return text;
}

/// Calls f(name, count) for each count that is not zero.
template <class F>
void each_refusal(const stack_counters& n, F&& f) {
  for (std::size_t what = 0; what != refusal_count; ++what)
    for (const bound by : {bound::shard, bound::process})
      if (const std::uint64_t count = n.refused(static_cast<refusal>(what), by); count != 0)
        f(std::string(name_of(static_cast<refusal>(what))) + "_" + std::string(name_of(by)), count);
}

template <class F>
void each_drop(const stack_counters& n, F&& f) {
  for (std::size_t i = 1; i != drop_count; ++i)
    if (n.drops[i] != 0) f(std::string(name_of(static_cast<drop>(i))), n.drops[i]);
}

std::string json_of(const connection_info& i) {
  return "{\"local\":" + json_quoted(endpoint_text(i.between.local)) +
         ",\"remote\":" + json_quoted(endpoint_text(i.between.remote)) +
         ",\"state\":" + json_quoted(name_of(i.now)) + ",\"waited_us\":" + number(i.waited_us) +
         ",\"cwnd\":" + number(i.window_bytes) + ",\"ssthresh\":" + number(i.threshold_bytes) +
         ",\"peer_window\":" + number(i.peer_window_bytes) +
         ",\"unacknowledged\":" + number(i.queued_bytes) +
         ",\"in_flight\":" + number(i.in_flight_bytes) + ",\"unread\":" + number(i.unread_bytes) +
         ",\"out_of_order\":" + number(i.out_of_order_bytes) +
         ",\"rtt_us\":" + number(i.round_trip_us) + ",\"rto_us\":" + number(i.timeout_us) +
         ",\"retries\":" + number(i.retries) +
         ",\"recovering\":" + (i.recovering ? "true" : "false") +
         ",\"timer\":" + json_quoted(i.timer) +
         ",\"timer_in_us\":" + std::to_string(i.timer_in_us) + "}";
}

}  // namespace

std::vector<connection_info> stack::slowest(std::size_t count, instant now) const {
  const core& k = *core_;
  struct entry {
    instant waited;
    std::uint32_t round_trip;
    std::uint32_t index;
  };
  const auto slower = [](const entry& a, const entry& b) {
    return a.waited != b.waited           ? a.waited > b.waited
           : a.round_trip != b.round_trip ? a.round_trip > b.round_trip
                                          : a.index < b.index;
  };
  // A heap of the kept connections; its first element is the quickest of them.
  std::vector<entry> kept;
  for (std::uint32_t i = 0; count != 0 && k.pcbs.made(i); ++i) {
    const pcb& c = k.pcbs[i];
    if (c.now == state::closed) continue;
    const bool busy = c.traffic != no_index && !k.traffics[c.traffic].idle();
    const entry e{busy ? std::max<instant>(now - k.traffics[c.traffic].moved_at, 1) : 0, c.srtt_us,
                  i};
    if (kept.size() == count) {
      if (!slower(e, kept.front())) continue;
      std::pop_heap(kept.begin(), kept.end(), slower);
      kept.pop_back();
    }
    kept.push_back(e);
    std::push_heap(kept.begin(), kept.end(), slower);
  }
  std::sort_heap(kept.begin(), kept.end(), slower);
  std::vector<connection_info> found;
  found.reserve(kept.size());
  for (const entry& e : kept) {
    const pcb& c = k.pcbs[e.index];
    connection_info i = *info({e.index, c.generation});
    i.waited_us = static_cast<std::uint64_t>(e.waited);
    find_timer(k, c, now, i);
    found.push_back(i);
  }
  return found;
}

std::array<std::size_t, state_count> stack::count_states() const {
  const core& k = *core_;
  std::array<std::size_t, state_count> counts{};
  for (std::uint32_t i = 0; k.pcbs.made(i); ++i)
    if (k.pcbs[i].now != state::closed) ++counts[static_cast<std::size_t>(k.pcbs[i].now)];
  counts[static_cast<std::size_t>(state::listen)] = k.listeners.size();
  counts[static_cast<std::size_t>(state::time_wait)] = k.waits.size();
  return counts;
}

std::string report_text(const stack& s, std::string_view name, instant now,
                        std::size_t connections_max) {
  std::string text = "tcp " + std::string(name) + ": " + number(s.connection_count()) +
                     (s.connection_count() == 1 ? " connection" : " connections");
  const auto states = s.count_states();
  for (std::size_t i = 0; i != states.size(); ++i)
    if (states[i] != 0)
      text += ", " + number(states[i]) + " " + std::string(name_of(static_cast<state>(i)));
  const memory_state m = s.memory();
  text += "\n  memory " + number(m.used) + " of " + number(m.limit) + " bytes";
  if (m.process_limit != 0)
    text += ", of the process " + number(m.process_used) + " of " + number(m.process_limit);
  if (m.is_short) text += ": it is short";
  const stack_counters& n = s.counters();
  text += "\n  packets " + number(n.packets_in) + " in, " + number(n.packets_out) + " out; " +
          number(n.segments_retransmitted) + " sent again, " + number(n.timeouts) + " timeouts\n";
  std::string list;
  const auto add = [&](const std::string& what, std::uint64_t count) {
    list += (list.empty() ? "" : ", ") + what + " " + number(count);
  };
  each_drop(n, add);
  if (!list.empty()) text += "  dropped: " + std::exchange(list, {}) + "\n";
  each_refusal(n, add);
  if (!list.empty()) text += "  refused for lack of memory: " + list + "\n";
  const auto slow = s.slowest(connections_max, now);
  if (slow.empty()) return text;
  text +=
      "  waits     peer                   state             cwnd   unacked  in flight"
      "    unread       rtt  timer\n";
  for (const connection_info& i : slow) text += row(i);
  if (slow.size() < s.connection_count())
    text += "  and " + number(s.connection_count() - slow.size()) + " more connections\n";
  return text;
}

std::string report_json(const stack& s, std::string_view name, instant now,
                        std::size_t connections_max) {
  std::string json = "{\"stack\":" + json_quoted(name) +
                     ",\"connections\":" + number(s.connection_count()) + ",\"states\":{";
  const char* comma = "";
  const auto member = [&](std::string_view what, std::uint64_t count) {
    json += std::exchange(comma, ",") + json_quoted(what) + ":" + number(count);
  };
  const auto states = s.count_states();
  for (std::size_t i = 0; i != states.size(); ++i)
    if (states[i] != 0) member(name_of(static_cast<state>(i)), states[i]);
  const memory_state m = s.memory();
  const stack_counters& n = s.counters();
  json += "},\"memory\":{\"used\":" + number(m.used) + ",\"limit\":" + number(m.limit) +
          ",\"process_used\":" + number(m.process_used) +
          ",\"process_limit\":" + number(m.process_limit) +
          ",\"short\":" + (m.is_short ? "true" : "false") +
          "},\"packets_in\":" + number(n.packets_in) + ",\"packets_out\":" + number(n.packets_out) +
          ",\"retransmitted\":" + number(n.segments_retransmitted) +
          ",\"timeouts\":" + number(n.timeouts) + ",\"dropped\":{";
  comma = "";
  each_drop(n, member);
  json += "},\"refused\":{";
  comma = "";
  each_refusal(n, member);
  json += "},\"slowest\":[";
  comma = "";
  for (const connection_info& i : s.slowest(connections_max, now))
    json += std::exchange(comma, ",") + json_of(i);
  return json + "]}";
}

}  // namespace heddle::tcp

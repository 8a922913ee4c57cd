// SPDX-License-Identifier: MIT
// Profiles as text, and sums of profiles.
#include "heddle/bus/profile.hh"

#include <algorithm>
#include <map>
#include <tuple>

#include "heddle/bus/detail/hex.hh"

namespace heddle {

const char* to_string(edge_kind kind) noexcept {
  switch (kind) {
    case edge_kind::nested:
      return "nested";
    case edge_kind::posted:
      return "posted";
    case edge_kind::follows:
      return "follows";
  }
  return "?";
}

namespace {

std::string number_or_dash(std::uint32_t n) {
  return n == profile_edge::none ? "-" : std::to_string(n);
}

/// Counters saturate: a sum that does not fit becomes the largest number.
std::uint64_t add(std::uint64_t a, std::uint64_t b) noexcept {
  return a > ~std::uint64_t{0} - b ? ~std::uint64_t{0} : a + b;
}

class adder {
 public:
  adder(profile_data& sum, const profile_limits& limits) : sum_(sum), limits_(limits) {
    for (std::uint32_t i = 0; i < sum.topics.size(); ++i) topics_[sum.topics[i].hash] = i;
    for (std::uint32_t i = 0; i < sum.handlers.size(); ++i)
      handlers_[{sum.handlers[i].hash, sum.handlers[i].occurrence}] = i;
    for (std::size_t i = 0; i < sum.edges.size(); ++i) edges_[key_of(sum.edges[i])] = i;
  }

  void add_all(const profile_data& more) {
    sum_.dropped = add(sum_.dropped, more.dropped);
    for (const profile_handler& h : more.handlers) handler_map_.push_back(add_handler(h));
    for (const profile_topic& t : more.topics) topic_map_.push_back(add_topic(t));
    for (const profile_edge& e : more.edges) add_edge(e);
  }

 private:
  using edge_key = std::tuple<edge_kind, std::uint32_t, std::uint32_t, std::uint32_t>;
  static edge_key key_of(const profile_edge& e) {
    return {e.kind, e.from_topic, e.from_handler, e.to_topic};
  }
  void drop(std::uint64_t count) noexcept { sum_.dropped = add(sum_.dropped, count); }

  std::uint32_t add_handler(const profile_handler& h) {
    const auto known = handlers_.find({h.hash, h.occurrence});
    if (known != handlers_.end()) {
      profile_handler& at = sum_.handlers[known->second];
      at.calls = add(at.calls, h.calls);
      at.ns = add(at.ns, h.ns);
      return known->second;
    }
    if (sum_.handlers.size() >= limits_.handlers_max) {
      drop(h.calls);
      return profile_edge::none;
    }
    sum_.handlers.push_back(h);
    return static_cast<std::uint32_t>(sum_.handlers.size() - 1);
  }

  std::uint32_t add_topic(const profile_topic& t) {
    const auto known = topics_.find(t.hash);
    std::uint32_t number = 0;
    if (known != topics_.end()) {
      number = known->second;
    } else if (sum_.topics.size() >= limits_.topics_max) {
      drop(t.raises);
      return profile_edge::none;
    } else {
      number = static_cast<std::uint32_t>(sum_.topics.size());
      sum_.topics.push_back({t.hash, 0, 0, t.haltable, t.name, {}});
    }
    profile_topic& at = sum_.topics[number];
    at.raises = add(at.raises, t.raises);
    at.ns = add(at.ns, t.ns);
    for (const profile_sequence& s : t.sequences) add_sequence(at, s);
    return number;
  }

  void add_sequence(profile_topic& t, const profile_sequence& s) {
    profile_sequence here{s.count, {}};
    for (const std::uint32_t h : s.handlers) here.handlers.push_back(handler_map_[h]);
    const bool whole = std::ranges::find(here.handlers, profile_edge::none) == here.handlers.end();
    for (profile_sequence& known : t.sequences) {
      if (known.handlers != here.handlers) continue;
      known.count = add(known.count, s.count);
      return;
    }
    if (!whole || t.sequences.size() >= limits_.sequences_max) {
      drop(s.count);
      return;
    }
    t.sequences.push_back(std::move(here));
  }

  void add_edge(const profile_edge& e) {
    profile_edge here = e;
    here.to_topic = topic_map_[e.to_topic];
    if (e.from_topic != profile_edge::none) here.from_topic = topic_map_[e.from_topic];
    if (e.from_handler != profile_edge::none) here.from_handler = handler_map_[e.from_handler];
    const bool lost =
        here.to_topic == profile_edge::none ||
        (e.from_topic != profile_edge::none && here.from_topic == profile_edge::none) ||
        (e.from_handler != profile_edge::none && here.from_handler == profile_edge::none);
    const auto known = edges_.find(key_of(here));
    if (!lost && known != edges_.end()) {
      sum_.edges[known->second].count = add(sum_.edges[known->second].count, e.count);
    } else if (lost || sum_.edges.size() >= limits_.edges_max) {
      drop(e.count);
    } else {
      sum_.edges.push_back(here);
    }
  }

  profile_data& sum_;
  const profile_limits& limits_;
  std::map<std::uint64_t, std::uint32_t> topics_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> handlers_;
  std::map<edge_key, std::size_t> edges_;
  std::vector<std::uint32_t> topic_map_;
  std::vector<std::uint32_t> handler_map_;
};

}  // namespace

std::string to_text(const profile_data& p) {
  std::string out = "heddle-bus-profile 1\ncompiler " + p.compiler + '\n';
  std::size_t lines = 3;
  for (const profile_topic& t : p.topics) {
    out += "topic " + detail::hex(t.hash) + ' ' + std::to_string(t.raises) + ' ' +
           std::to_string(t.ns) + (t.haltable ? " haltable " : " plain ") + t.name + '\n';
    ++lines;
  }
  for (const profile_handler& h : p.handlers) {
    out += "handler " + detail::hex(h.hash) + ' ' + std::to_string(h.occurrence) + ' ' +
           std::to_string(h.calls) + ' ' + std::to_string(h.ns) + ' ' + h.name + '\n';
    ++lines;
  }
  for (std::size_t t = 0; t < p.topics.size(); ++t) {
    for (const profile_sequence& s : p.topics[t].sequences) {
      out += "sequence " + std::to_string(t) + ' ' + std::to_string(s.count);
      for (const std::uint32_t h : s.handlers) out += ' ' + std::to_string(h);
      out += '\n';
      ++lines;
    }
  }
  for (const profile_edge& e : p.edges) {
    out += std::string(to_string(e.kind)) + ' ' + number_or_dash(e.from_topic) + ' ' +
           number_or_dash(e.from_handler) + ' ' + std::to_string(e.to_topic) + ' ' +
           std::to_string(e.count) + '\n';
    ++lines;
  }
  out += "dropped " + std::to_string(p.dropped) + '\n';
  out += "end " + std::to_string(lines) + '\n';
  return out;
}

void add_profile(profile_data& sum, const profile_data& more, const profile_limits& limits) {
  adder(sum, limits).add_all(more);
}

}  // namespace heddle

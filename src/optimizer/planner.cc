// SPDX-License-Identifier: MIT
// Chooses the topics and sequences to merge: busy topics first, and of a topic its usual sequences.
// A handler whose name is ambiguous between translation units stays a hole; the rest is merged
// around it.
#include "heddle/optimizer/planner.hh"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>

#include "heddle/bus/detail/guard.hh"

namespace heddle {

namespace {

/// The handler calls in one sequence. The sums of real profiles are far below 2^64; for a hostile
/// one they must not wrap.
std::uint64_t calls_in(const profile_sequence& s) noexcept {
  const std::uint64_t len = s.handlers.size();
  if (len != 0 && s.count > (std::uint64_t{1} << 48) / len) return std::uint64_t{1} << 48;
  return s.count * len;
}

std::uint64_t calls_in(const profile_topic& t) noexcept {
  std::uint64_t sum = 0;
  for (const profile_sequence& s : t.sequences) sum += calls_in(s);
  return sum;
}

/// Names that are local to a translation unit end in " in FILE" (bus/identity.hh).
bool local_to_unit(const std::string& name) { return name.find(" in ") != std::string::npos; }

/// Whether it is a filter, which is the first of its sequence (bus/detail/guard.hh).
bool is_filter(const profile_handler& h) { return h.name.starts_with(detail::filter_mark); }

/// FNV-1a, 64 bits.
std::uint64_t stamp_of(const std::string& text) noexcept {
  std::uint64_t stamp = 0xcbf29ce484222325u;
  for (const char c : text) stamp = (stamp ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return stamp;
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%",
                whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

class planner {
 public:
  planner(const profile_data& profile, const plan_options& options)
      : profile_(profile), options_(options), numbers_(profile.handlers.size(), unknown) {
    std::map<std::uint64_t, int> alike;
    std::set<std::uint64_t> confused;
    for (const profile_handler& h : profile.handlers) {
      ++alike[h.hash];
      if (h.occurrence >= profile_handler::confused) confused.insert(h.hash);
    }
    for (const profile_handler& h : profile.handlers)
      ambiguous_.push_back(confused.contains(h.hash) ||
                           (alike[h.hash] > 1 && !local_to_unit(h.name)));
  }

  plan make() {
    plan_.compiler = profile_.compiler;
    if (!options_.compiler.empty() && options_.compiler != profile_.compiler) {
      plan_.notes.push_back("the profile was made by " + profile_.compiler +
                            ", this build is made by " + options_.compiler +
                            ": nothing is merged; profile this build");
      return std::move(plan_);
    }
    std::vector<std::uint32_t> order(profile_.topics.size());
    std::iota(order.begin(), order.end(), 0u);
    for (const profile_topic& t : profile_.topics) plan_.calls_all += calls_in(t);
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
      const std::uint64_t in_a = calls_in(profile_.topics[a]);
      const std::uint64_t in_b = calls_in(profile_.topics[b]);
      return in_a != in_b ? in_a > in_b : a < b;
    });
    std::uint64_t covered = 0;
    for (const std::uint32_t t : order) {
      const std::uint64_t calls = calls_in(profile_.topics[t]);
      if (calls == 0) break;
      if (static_cast<double>(covered) >= options_.theta * static_cast<double>(plan_.calls_all))
        break;
      covered += calls;
      if (static_cast<double>(calls) < options_.share_min * static_cast<double>(plan_.calls_all)) {
        plan_.notes.push_back(profile_.topics[t].name + ": left out, because it makes " +
                              percent(calls, plan_.calls_all) + " of the handler calls");
        continue;
      }
      const auto slower =
          std::ranges::find(options_.left_out, profile_.topics[t].hash, &left_out_topic::hash);
      if (slower != options_.left_out.end()) {
        plan_.notes.push_back(profile_.topics[t].name + ": left out, because merged it was " +
                              slower->reason);
        continue;
      }
      add_topic(t);
    }
    count_nested();
    choose_inlined();
    choose_chains();
    note_ambiguous();
    if (profile_.dropped != 0)
      plan_.notes.push_back(std::to_string(profile_.dropped) +
                            " events did not fit the profile's limits and are not in it");
    plan_.stamp = stamp_of(plan_header(plan_, profile_));
    return std::move(plan_);
  }

 private:
  static constexpr std::int32_t unknown = -2;

  std::int32_t number_of(std::uint32_t handler) {
    if (ambiguous_[handler]) {
      used_ambiguous_ = true;
      return -1;
    }
    if (numbers_[handler] == unknown) {
      numbers_[handler] = static_cast<std::int32_t>(plan_.handlers.size());
      plan_.handlers.push_back(handler);
    }
    return numbers_[handler];
  }

  void add_topic(std::uint32_t number) {
    const profile_topic& t = profile_.topics[number];
    std::vector<const profile_sequence*> usual;
    std::uint64_t raises = 0;
    bool filtered = false;
    for (const profile_sequence& s : t.sequences) {
      raises += std::min(s.count, std::uint64_t{1} << 48);
      if (s.handlers.empty()) continue;
      if (is_filter(profile_.handlers[s.handlers.front()])) {
        filtered = true;
      } else {
        usual.push_back(&s);
      }
    }
    if (filtered)
      plan_.notes.push_back(t.name + ": raises with a filter run as in a generic build");
    std::ranges::sort(usual, [](auto* a, auto* b) {
      return a->count != b->count ? a->count > b->count : a < b;  // ties: array order
    });
    plan_topic made;
    made.topic = number;
    for (const profile_sequence* s : usual) {
      if (made.variants.size() == std::min<std::size_t>(options_.variants_max, 3)) break;
      if (static_cast<double>(s->count) < options_.variant_share_min * static_cast<double>(raises))
        break;
      if (s->handlers.size() > options_.handlers_max) {
        plan_.notes.push_back(t.name + ": a sequence of " + std::to_string(s->handlers.size()) +
                              " handlers is too long to merge");
        continue;
      }
      plan_variant v{s->count, {}};
      for (const std::uint32_t h : s->handlers) v.numbers.push_back(number_of(h));
      const auto direct = static_cast<std::uint64_t>(
          std::ranges::count_if(v.numbers, [](std::int32_t n) { return n >= 0; }));
      if (direct == 0) continue;
      const auto same = std::ranges::find(made.variants, v.numbers, &plan_variant::numbers);
      made.calls += calls_in(*s) / s->handlers.size() * direct;
      if (same == made.variants.end()) made.variants.push_back(std::move(v));
    }
    if (!made.variants.empty()) plan_.topics.push_back(std::move(made));
  }

  void count_nested() {
    std::vector<plan_topic*> merged(profile_.topics.size());
    for (plan_topic& t : plan_.topics) merged[t.topic] = &t;
    for (const profile_edge& e : profile_.edges)
      if (e.kind == edge_kind::nested && e.from_topic != profile_edge::none &&
          merged[e.from_topic] != nullptr && merged[e.to_topic] != nullptr)
        merged[e.from_topic]->nested_raises += std::min(e.count, std::uint64_t{1} << 48);
  }

  /// Tells GCC where to end functions of merged code. A raise of a topic that only one handler
  /// raises, or none, may be inlined into the raiser; after levels_max nested raises a new function
  /// begins. The compiler still limits sizes: raises missing in the profile cost calls, not copies.
  void choose_inlined() {
    constexpr std::uint32_t none = profile_edge::none;
    struct raiser {
      std::uint32_t topic = none;
      std::uint32_t handler = none;
      bool several = false;
    };
    std::vector<raiser> of(profile_.topics.size());
    for (const profile_edge& e : profile_.edges) {
      if (e.kind != edge_kind::nested || e.from_topic == none) continue;
      raiser& r = of[e.to_topic];
      if (r.topic != none && (r.topic != e.from_topic || r.handler != e.from_handler))
        r.several = true;
      r.topic = e.from_topic;
      r.handler = e.from_handler;
    }
    for (plan_topic& t : plan_.topics) {
      std::size_t depth = 0;  // also ends if topics raise each other in a cycle
      for (std::uint32_t up = t.topic;
           depth != of.size() && of[up].topic != none && !of[up].several; up = of[up].topic)
        ++depth;
      const bool begins = depth != 0 && depth % std::max<std::size_t>(options_.levels_max, 1) == 0;
      t.several_raise = of[t.topic].several;
      t.inlined = !of[t.topic].several && !begins && depth != of.size();
    }
  }

  /// Whether each raise in the profile ran the one sequence that is merged. Names that files share
  /// are compared for each topic.
  [[nodiscard]] bool is_steady(const plan_topic& t) const {
    const profile_topic& about = profile_.topics[t.topic];
    return t.variants.size() == 1 && !local_to_unit(about.name) && about.sequences.size() == 1;
  }

  /// Joins topics to chains, along the edges that carry a twentieth of the raises or more.
  void choose_chains() {
    constexpr std::size_t none = ~std::size_t{0};
    std::vector<std::size_t> planned(profile_.topics.size(), none);
    std::vector<std::size_t> first(plan_.topics.size());
    for (std::size_t i = 0; i < plan_.topics.size(); ++i) planned[plan_.topics[i].topic] = i;
    std::iota(first.begin(), first.end(), std::size_t{0});
    const auto head = [&](std::size_t i) {
      while (first[i] != i) i = first[i];
      return i;
    };
    const auto ends = [&](const profile_edge& e) {
      const bool nested = e.kind == edge_kind::nested && e.from_topic != profile_edge::none;
      return std::pair(nested ? planned[e.from_topic] : none, planned[e.to_topic]);
    };
    for (const profile_edge& e : profile_.edges) {
      const auto [from, to] = ends(e);
      if (from == none || to == none || !is_steady(plan_.topics[from]) ||
          !is_steady(plan_.topics[to]) || e.count < profile_.topics[e.to_topic].raises / 20)
        continue;
      const auto [low, high] = std::minmax({head(from), head(to)});
      first[high] = low;
    }
    for (std::size_t i = 0; i < plan_.topics.size(); ++i) {
      const std::size_t lead = head(i);
      if (lead == i) plan_.chains.push_back(static_cast<std::uint32_t>(i));
      plan_.topics[i].chain = lead == i ? static_cast<std::uint32_t>(plan_.chains.size() - 1)
                                        : plan_.topics[lead].chain;
    }
    std::vector<std::uint64_t> inside(plan_.topics.size());
    for (const profile_edge& e : profile_.edges) {
      const auto [from, to] = ends(e);
      if (from == none || to == none) continue;
      if (plan_.topics[from].chain == plan_.topics[to].chain)
        inside[to] += std::min(e.count, std::uint64_t{1} << 48);
    }
    for (std::size_t i = 0; i < plan_.topics.size(); ++i) {
      const std::uint64_t raises = profile_.topics[plan_.topics[i].topic].raises;
      const std::uint64_t seldom = raises / 100;
      if (inside[i] <= seldom)
        plan_.topics[i].from = detail::raised_from::outside;
      else if (raises - std::min(raises, inside[i]) <= seldom)
        plan_.topics[i].from = detail::raised_from::chain;
    }
  }

  void note_ambiguous() {
    if (!used_ambiguous_) return;
    for (std::size_t h = 0; h < ambiguous_.size(); ++h)
      if (ambiguous_[h] && profile_.handlers[h].occurrence == 0)
        plan_.notes.push_back(profile_.handlers[h].name +
                              ": several handlers have this name; they are called, not merged");
  }

  const profile_data& profile_;
  const plan_options& options_;
  plan plan_;
  std::vector<std::int32_t> numbers_;
  std::vector<bool> ambiguous_;
  bool used_ambiguous_ = false;
};

}  // namespace

plan make_plan(const profile_data& profile, const plan_options& options) {
  return planner(profile, options).make();
}

std::string plan_table(const plan& p, const profile_data& profile) {
  std::uint64_t raises = 0;
  std::uint64_t direct = 0;
  for (const profile_topic& t : profile.topics)
    raises += std::min(t.raises, std::uint64_t{1} << 48);
  std::string out = "handlers  variants  raises   share    inside   indirect calls saved  topic\n";
  for (const plan_topic& t : p.topics) {
    const profile_topic& about = profile.topics[t.topic];
    char line[160];
    std::snprintf(
        line, sizeof line, "%8zu  %8zu  %-7llu  %-7s  %-7llu  %-20s  ",
        t.variants.front().numbers.size(), t.variants.size(),
        static_cast<unsigned long long>(about.raises), percent(about.raises, raises).c_str(),
        static_cast<unsigned long long>(t.nested_raises), percent(t.calls, p.calls_all).c_str());
    out += line + about.name + '\n';
    direct += t.calls;
  }
  out += std::to_string(p.topics.size()) + " of " + std::to_string(profile.topics.size()) +
         " topics and " + std::to_string(p.handlers.size()) + " of " +
         std::to_string(profile.handlers.size()) + " handlers are merged; " +
         percent(direct, p.calls_all) + " of all indirect calls become direct\n";
  for (const std::string& note : p.notes) out += "note: " + note + '\n';
  return out;
}

}  // namespace heddle

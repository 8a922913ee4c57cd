// SPDX-License-Identifier: MIT
// Writes a profile as a graph in DOT.
#include "heddle/optimizer/profile_graph.hh"

#include <algorithm>
#include <map>
#include <set>

#include "heddle/base/text.hh"

namespace heddle {

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

/// A short name that fits into a picture: the part after the last "::" outside of template
/// arguments.
std::string short_name(const std::string& name) {
  const std::string whole = name.substr(0, name.find(" in "));
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < whole.size(); ++i) {
    if (whole[i] == '<' || whole[i] == '(') ++depth;
    if (whole[i] == '>' || whole[i] == ')') --depth;
    if (depth == 0 && whole[i] == ':' && whole[i + 1] == ':') begin = i + 2;
  }
  const std::string last = whole.substr(begin);
  return last.empty() ? whole : last;
}

const char* style_of(edge_kind kind) noexcept {
  switch (kind) {
    case edge_kind::nested:
      return "solid";
    case edge_kind::posted:
      return "dashed";
    case edge_kind::follows:
      return "dotted";
  }
  return "solid";
}

class writer {
 public:
  writer(const profile_data& profile, const graph_options& options)
      : profile_(profile), options_(options) {}

  std::string write() {
    choose_edges();
    out_ = "digraph bus {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans\"];\n";
    if (options_.handlers) {
      write_boxes();
    } else {
      write_topics();
    }
    for (const auto& [ends, count] : edges_)
      out_ += "  " + ends.from + " -> " + ends.to + " [style=" + style_of(ends.kind) +
              ", label=" + quoted(std::to_string(count)) + ", penwidth=" + width_of(count) + "];\n";
    return std::move(out_) + "}\n";
  }

 private:
  struct ends {
    std::string from;
    std::string to;
    edge_kind kind;
    auto operator<=>(const ends&) const = default;
  };

  static std::string topic_node(std::uint32_t t) { return "t" + std::to_string(t); }
  std::string from_node(const profile_edge& e) const {
    if (e.from_topic == profile_edge::none) return "outside";
    if (!options_.handlers || e.from_handler == profile_edge::none) return topic_node(e.from_topic);
    return topic_node(e.from_topic) + ":h" + std::to_string(e.from_handler);
  }

  void choose_edges() {
    std::uint64_t most = 1;
    for (const profile_edge& e : profile_.edges)
      if (wanted(e)) most = std::max(most, e.count);
    most_ = most;
    for (const profile_edge& e : profile_.edges) {
      if (!wanted(e) ||
          static_cast<double>(e.count) < options_.threshold * static_cast<double>(most))
        continue;
      if (e.from_topic != profile_edge::none) seen_.insert(e.from_topic);
      outside_ = outside_ || e.from_topic == profile_edge::none;
      seen_.insert(e.to_topic);
      std::uint64_t& sum = edges_[{from_node(e), topic_node(e.to_topic), e.kind}];
      sum = sum > ~e.count ? ~std::uint64_t{0} : sum + e.count;
    }
  }
  [[nodiscard]] bool wanted(const profile_edge& e) const noexcept {
    return !options_.handlers || e.kind != edge_kind::follows;
  }
  [[nodiscard]] std::string width_of(std::uint64_t count) const {
    // 1 to 5, so that the heaviest edges stand out.
    const std::uint64_t tenths = 10 + count / (most_ / 40 + 1);
    return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10);
  }
  [[nodiscard]] bool left_out(std::uint32_t t) const {
    return options_.threshold > 0 && !seen_.contains(t);
  }

  void write_topics() {
    for (std::uint32_t t = 0; t < profile_.topics.size(); ++t) {
      if (left_out(t)) continue;
      const profile_topic& about = profile_.topics[t];
      out_ += "  " + topic_node(t) + " [label=" + quoted(short_name(about.name)) +
              ", tooltip=" + quoted(about.name + ", " + std::to_string(about.raises) + " raises") +
              (about.haltable ? ", peripheries=2" : "") + "];\n";
    }
    if (outside_) out_ += "  outside [shape=plaintext];\n";
  }

  /// Writes a box for each topic: its name, the handlers of its usual sequence in order, and then
  /// the handlers of rarer sequences.
  void write_boxes() {
    for (std::uint32_t t = 0; t < profile_.topics.size(); ++t) {
      if (left_out(t)) continue;
      std::vector<std::uint32_t> handlers;
      std::vector<const profile_sequence*> sequences;
      for (const profile_sequence& s : profile_.topics[t].sequences) sequences.push_back(&s);
      std::ranges::sort(sequences, [](auto* a, auto* b) {
        return a->count != b->count ? a->count > b->count : a < b;
      });
      for (const profile_sequence* s : sequences)
        for (const std::uint32_t h : s->handlers)
          if (std::ranges::find(handlers, h) == handlers.end()) handlers.push_back(h);
      for (const profile_edge& e : profile_.edges)  // handlers whose sequence was dropped
        if (e.from_topic == t && e.from_handler != profile_edge::none &&
            std::ranges::find(handlers, e.from_handler) == handlers.end())
          handlers.push_back(e.from_handler);
      out_ += "  " + topic_node(t) +
              " [shape=plain, label=<<table border=\"0\" cellborder=\"1\" cellspacing=\"0\">"
              "<tr><td><b>";
      append_markup_text(out_, short_name(profile_.topics[t].name));
      out_ += "</b></td></tr>";
      for (const std::uint32_t h : handlers) {
        out_ += "<tr><td port=\"h" + std::to_string(h) + "\">";
        append_markup_text(out_, short_name(profile_.handlers[h].name));
        out_ += "</td></tr>";
      }
      out_ += "</table>>];\n";
    }
    if (outside_) out_ += "  outside [shape=plaintext];\n";
  }

  const profile_data& profile_;
  const graph_options& options_;
  std::map<ends, std::uint64_t> edges_;
  std::set<std::uint32_t> seen_;
  std::uint64_t most_ = 1;
  bool outside_ = false;
  std::string out_;
};

}  // namespace

std::string profile_graph(const profile_data& profile, const graph_options& options) {
  return writer(profile, options).write();
}

}  // namespace heddle

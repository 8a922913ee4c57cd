// SPDX-License-Identifier: MIT
// Parses a profile's text strictly: anything that the writer would not have written is an error
// with its line. So a profile that was truncated, edited or made by another program is never used
// in part.
#include <charconv>
#include <set>
#include <tuple>
#include <utility>

#include "heddle/bus/profile.hh"

namespace heddle {

namespace {

/// Thrown to stop parsing; caught in parse_profile.
struct refused {
  std::string what;
};

class reader {
 public:
  reader(std::string_view text, const profile_limits& limits) : rest_(text), limits_(limits) {}

  profile_data read() {
    if (rest_.size() > limits_.text_len_max) throw refused{"longer than a profile may be"};
    next_line();
    if (line_ != "heddle-bus-profile 1")
      throw refused{line_.starts_with("heddle-bus-profile ")
                        ? "a version of the format that is not known here (known: 1)"
                        : "not a profile: the first line is not \"heddle-bus-profile 1\""};
    next_line();
    expect("compiler");
    p_.compiler = name();
    for (const char c : p_.compiler)  // the text becomes part of a source file
      if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != ' ' && c != '.')
        throw refused{"a compiler's name has lower-case letters, digits, spaces and dots"};
    for (;;) {
      next_line();
      const std::string_view kind = word();
      if (kind == "topic") {
        read_topic();
      } else if (kind == "handler") {
        read_handler();
      } else if (kind == "sequence") {
        read_sequence();
      } else if (kind == "nested" || kind == "posted" || kind == "follows") {
        read_edge(kind);
      } else {
        break;
      }
    }
    rest_of_line_ = line_;
    expect("dropped");
    p_.dropped = number();
    end_of_line();
    const std::size_t lines = line_number_;
    next_line();
    expect("end");
    if (number() != lines) throw refused{"lines are missing or were added"};
    end_of_line();
    if (!rest_.empty()) throw refused{"there is more behind the end"};
    return std::move(p_);
  }

  [[nodiscard]] std::size_t line_number() const noexcept { return line_number_; }

 private:
  void next_line() {
    ++line_number_;
    const std::size_t end = rest_.find('\n');
    if (end == rest_.npos) throw refused{"the text ends early: the profile was cut off"};
    line_ = rest_of_line_ = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
  }
  std::string_view word() {
    const std::size_t end = rest_of_line_.find(' ');
    const std::string_view w = rest_of_line_.substr(0, end);
    rest_of_line_.remove_prefix(end == rest_of_line_.npos ? w.size() : end + 1);
    if (w.empty()) throw refused{"a word is missing"};
    // A space after the last word would otherwise go unnoticed.
    if (rest_of_line_.empty() && end != rest_of_line_.npos)
      throw refused{"a space at the end of the line"};
    return w;
  }
  void expect(std::string_view what) {
    if (word() != what) throw refused{"expected a line \"" + std::string(what) + " ...\""};
  }
  void end_of_line() const {
    if (!rest_of_line_.empty()) throw refused{"more words than belong here"};
  }
  std::uint64_t digits(std::string_view w, int base) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), value, base);
    if (error != std::errc() || end != w.data() + w.size())
      throw refused{"\"" + std::string(w.substr(0, 40)) + "\" is not a number in range"};
    return value;
  }
  std::uint64_t number() {
    const std::string_view w = word();
    if (w.size() > 1 && w[0] == '0') throw refused{"a number begins with 0"};
    return digits(w, 10);
  }
  std::uint32_t number_below(std::size_t limit, const char* what) {
    const std::uint64_t n = number();
    if (n >= limit) throw refused{std::string("there is no ") + what + ' ' + std::to_string(n)};
    return static_cast<std::uint32_t>(n);
  }
  std::uint32_t number_or_dash(std::size_t limit, const char* what) {
    if (rest_of_line_.starts_with("- ")) {
      rest_of_line_.remove_prefix(2);
      return profile_edge::none;
    }
    return number_below(limit, what);
  }
  std::uint64_t hash() {
    const std::string_view w = word();
    if (w.size() != 16 || w.find_first_not_of("0123456789abcdef") != w.npos)
      throw refused{"a hash has 16 digits of 0-9 and a-f"};
    return digits(w, 16);
  }
  std::string name() {
    const std::string_view n = std::exchange(rest_of_line_, {});
    if (n.empty()) throw refused{"a name is missing"};
    if (n.size() > limits_.name_len_max) throw refused{"a name is too long"};
    for (const char c : n)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        throw refused{"a name holds a control character"};
    return std::string(n);
  }

  void read_topic() {
    if (!p_.handlers.empty()) throw refused{"topics come before handlers"};
    if (p_.topics.size() >= limits_.topics_max)
      throw refused{"more topics than a profile may hold"};
    profile_topic t;
    t.hash = hash();
    t.raises = number();
    t.ns = number();
    const std::string_view kind = word();
    if (kind != "haltable" && kind != "plain") throw refused{"expected \"plain\" or \"haltable\""};
    t.haltable = kind == "haltable";
    t.name = name();
    if (!topics_.insert(t.hash).second) throw refused{"this topic stands here twice"};
    p_.topics.push_back(std::move(t));
  }

  void read_handler() {
    if (has_sequences_ || !p_.edges.empty()) throw refused{"handlers come before sequences"};
    if (p_.handlers.size() >= limits_.handlers_max)
      throw refused{"more handlers than a profile may hold"};
    profile_handler h;
    h.hash = hash();
    h.occurrence = number_below(1u << 31, "occurrence");
    h.calls = number();
    h.ns = number();
    h.name = name();
    if (!handlers_.insert({h.hash, h.occurrence}).second)
      throw refused{"this handler stands here twice"};
    p_.handlers.push_back(std::move(h));
  }

  void read_sequence() {
    if (!p_.edges.empty()) throw refused{"sequences come before edges"};
    has_sequences_ = true;
    const std::uint32_t topic = number_below(p_.topics.size(), "topic");
    if (topic < last_sequence_topic_) throw refused{"sequences stand in the order of their topics"};
    last_sequence_topic_ = topic;
    profile_topic& t = p_.topics[topic];
    if (t.sequences.size() >= limits_.sequences_max)
      throw refused{"more sequences than a topic may have"};
    profile_sequence s;
    s.count = number();
    while (!rest_of_line_.empty()) {
      if (s.handlers.size() >= limits_.sequence_len_max) throw refused{"a sequence is too long"};
      s.handlers.push_back(number_below(p_.handlers.size(), "handler"));
    }
    for (const profile_sequence& other : t.sequences)
      if (other.handlers == s.handlers) throw refused{"this sequence stands here twice"};
    t.sequences.push_back(std::move(s));
  }

  void read_edge(std::string_view kind) {
    if (p_.edges.size() >= limits_.edges_max) throw refused{"more edges than a profile may hold"};
    profile_edge e;
    e.kind = kind == "nested"   ? edge_kind::nested
             : kind == "posted" ? edge_kind::posted
                                : edge_kind::follows;
    e.from_topic = number_or_dash(p_.topics.size(), "topic");
    e.from_handler = number_or_dash(p_.handlers.size(), "handler");
    e.to_topic = number_below(p_.topics.size(), "topic");
    e.count = number();
    end_of_line();
    const bool from_handler = e.from_handler != profile_edge::none;
    const bool from_topic = e.from_topic != profile_edge::none;
    const bool right = e.kind == edge_kind::follows  ? from_topic && !from_handler
                       : e.kind == edge_kind::nested ? from_topic && from_handler
                                                     : from_topic == from_handler;
    if (!right) throw refused{"an edge of this kind does not come from there"};
    if (!edges_.insert({e.kind, e.from_topic, e.from_handler, e.to_topic}).second)
      throw refused{"this edge stands here twice"};
    p_.edges.push_back(e);
  }

  std::string_view rest_;
  std::string_view line_;
  std::string_view rest_of_line_;
  std::size_t line_number_ = 0;
  std::uint32_t last_sequence_topic_ = 0;
  bool has_sequences_ = false;
  const profile_limits& limits_;
  profile_data p_;
  std::set<std::uint64_t> topics_;
  std::set<std::pair<std::uint64_t, std::uint32_t>> handlers_;
  std::set<std::tuple<edge_kind, std::uint32_t, std::uint32_t, std::uint32_t>> edges_;
};

}  // namespace

std::expected<profile_data, profile_problem> parse_profile(std::string_view text,
                                                           const profile_limits& limits) {
  reader r(text, limits);
  try {
    return r.read();
  } catch (const refused& e) {
    return std::unexpected(profile_problem{r.line_number(), e.what});
  }
}

}  // namespace heddle

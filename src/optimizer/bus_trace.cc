// SPDX-License-Identifier: MIT
// Replays a trace: for each bus, the handlers bound to each topic in their order, and the topic
// that was raised last. A line that the writer would not have written is an error.
#include "heddle/optimizer/bus_trace.hh"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>
#include <vector>

#include "heddle/base/error.hh"
#include "heddle/bus/detail/guard.hh"
#include "heddle/bus/detail/trace_writer.hh"

namespace heddle {

namespace {

/// Thrown to stop parsing; caught in profile_of_trace.
struct bad_trace {
  std::string what;
};

using number = std::uint32_t;

class trace_reader {
 public:
  trace_reader(std::string_view text, const trace_limits& limits) : rest_(text), limits_(limits) {}

  profile_data read() {
    if (rest_.size() > limits_.text_len_max) throw bad_trace{"longer than a trace may be"};
    next_line();
    if (left_ != detail::trace_writer::first_line)
      throw bad_trace{"not a trace: the first line is not \"" +
                      std::string(detail::trace_writer::first_line) + '"'};
    p_.compiler = "trace";
    while (!rest_.empty()) {
      next_line();
      read_line();
    }
    return std::move(p_);
  }

  [[nodiscard]] std::size_t line_number() const noexcept { return line_number_; }

 private:
  struct bound_handler {
    std::int64_t order;
    number handler;
  };
  struct topic_state {
    std::vector<bound_handler> bound;
    bool current = false;      ///< `sequence` is that of `bound`
    std::size_t sequence = 0;  ///< index in the topic's sequences; beyond them: not recorded
  };
  struct bus_state {
    std::map<std::string, topic_state, std::less<>> topics;
    number last_raised = profile_edge::none;
  };
  static constexpr std::int64_t last_order = std::numeric_limits<std::int64_t>::max();

  void next_line() {
    ++line_number_;
    const std::size_t end = rest_.find('\n');
    if (end == rest_.npos) throw bad_trace{"the text ends early: the trace was cut off"};
    left_ = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
  }

  /// The next word; words end with one space, or with the line.
  std::string word() {
    std::string out;
    if (left_.starts_with('"')) {
      std::size_t at = 1;
      for (; at < left_.size() && left_[at] != '"'; ++at) {
        if (left_[at] == '\\') ++at;
        if (at < left_.size()) out += left_[at];
      }
      if (at >= left_.size()) throw bad_trace{"a quote is not closed"};
      left_.remove_prefix(at + 1);
    } else {
      out = left_.substr(0, left_.find(' '));
      left_.remove_prefix(out.size());
    }
    if (out.empty()) throw bad_trace{"a word is missing"};
    if (out.size() > limits_.profile.name_len_max + 16) throw bad_trace{"a word is too long"};
    for (const char c : out)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        throw bad_trace{"a word holds a control character"};
    if (!left_.empty()) {
      if (left_[0] != ' ' || left_.size() == 1)
        throw bad_trace{"words have one space between them"};
      left_.remove_prefix(1);
    }
    return out;
  }
  void end_of_line() const {
    if (!left_.empty()) throw bad_trace{"more words than belong here"};
  }
  template <class Number>
  static Number number_in(std::string_view text) {
    Number value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      throw bad_trace{"\"" + std::string(text.substr(0, 40)) + "\" is not a number in range"};
    return value;
  }
  /// A number with this many decimals.
  static void check_decimal(std::string_view text, std::size_t decimals) {
    const std::size_t dot = text.find('.');
    if (dot == text.npos || text.size() - dot - 1 != decimals)
      throw bad_trace{"a number with " + std::to_string(decimals) + " decimals is missing"};
    static_cast<void>(number_in<std::uint64_t>(text.substr(0, dot)));
    static_cast<void>(number_in<std::uint64_t>(text.substr(dot + 1)));
  }

  void read_line() {
    const std::string first = word();
    if (first == "full") {
      ++p_.dropped;
      return end_of_line();
    }
    if (first == "bus") {
      const auto name = number_in<std::uint64_t>(word());
      if (!buses_.contains(name) && buses_.size() >= limits_.buses_max)
        throw bad_trace{"more buses than a trace may hold"};
      bus_ = &buses_[name];
      return end_of_line();
    }
    check_decimal(first, 6);
    if (bus_ == nullptr) throw bad_trace{"a line \"bus NUMBER\" is missing before this one"};
    const std::string verb = word();
    if (verb == "raise") return read_raise();
    if (verb == "bind") return read_bind();
    if (verb == "unbind") return read_unbind();
    throw bad_trace{"expected \"raise\", \"bind\" or \"unbind\""};
  }

  /// "by HANDLER of TOPIC", or the end of the line: then both are `none`.
  std::pair<number, number> read_caller() {
    if (left_.empty()) return {profile_edge::none, profile_edge::none};
    if (word() != "by") throw bad_trace{"expected \"by HANDLER of TOPIC\""};
    const auto handler = handlers_.find(word());
    if (handler == handlers_.end()) throw bad_trace{"this handler was never bound"};
    if (word() != "of") throw bad_trace{"expected \"of TOPIC\""};
    const auto topic = topics_.find(word());
    if (topic == topics_.end()) throw bad_trace{"this topic was never raised"};
    end_of_line();
    return {topic->second, handler->second};
  }

  void read_raise() {
    const std::string name = word();
    const std::string kind = word();
    const std::string span = word();
    if (kind == "async") {
      check_decimal(span, 3);
      const auto [topic, handler] = read_caller();
      return count_edge(edge_kind::posted, topic, handler, topic_of(name));
    }
    if (kind != "sync" || span != "0") throw bad_trace{"expected \"sync 0\" or \"async MS\""};
    const auto [from, handler] = read_caller();
    const number topic = topic_of(name);
    if (topic == profile_edge::none) {
      ++p_.dropped;
      return;
    }
    profile_topic& t = p_.topics[topic];
    ++t.raises;
    count_sequence(bus_->topics[name], t);
    if (handler != profile_edge::none) count_edge(edge_kind::nested, from, handler, topic);
    if (bus_->last_raised != profile_edge::none)
      count_edge(edge_kind::follows, bus_->last_raised, profile_edge::none, topic);
    bus_->last_raised = topic;
  }

  void count_sequence(topic_state& s, profile_topic& t) {
    if (!s.current) {
      std::vector<number> bound;
      for (const bound_handler& h : s.bound) bound.push_back(h.handler);
      const auto known = std::ranges::find(t.sequences, bound, &profile_sequence::handlers);
      s.sequence = static_cast<std::size_t>(known - t.sequences.begin());
      s.current = true;
      const bool fits = t.sequences.size() < limits_.profile.sequences_max &&
                        bound.size() <= limits_.profile.sequence_len_max &&
                        std::ranges::find(bound, profile_edge::none) == bound.end();
      if (known == t.sequences.end()) {
        if (fits) {
          t.sequences.push_back({0, std::move(bound)});
        } else {
          s.sequence = ~std::size_t{0};
        }
      }
    }
    if (s.sequence < t.sequences.size()) {
      ++t.sequences[s.sequence].count;
    } else {
      ++p_.dropped;
    }
  }

  /// A binding's order and handler; filters come before all handlers.
  bound_handler read_binding() {
    const std::string order = word();
    bound_handler b{order == "last" ? last_order : number_in<std::int32_t>(order), 0};
    const std::string handler = word();
    end_of_line();
    if (handler.starts_with(detail::filter_mark))
      b.order = detail::slot_info::filter_order(static_cast<int>(b.order));
    b.handler = handler_of(handler);
    return b;
  }

  void read_bind() {
    const std::string topic = word();
    const std::string kind = word();
    if (kind != "plain" && kind != "haltable")
      throw bad_trace{"expected \"plain\" or \"haltable\""};
    const bound_handler b = read_binding();
    if (kind == "haltable") haltable_[topic] = true;
    topic_state& s = bus_->topics[topic];
    if (s.bound.size() >= limits_.bindings_max)
      throw bad_trace{"more handlers of one topic than a trace may hold"};
    s.bound.insert(std::ranges::upper_bound(s.bound, b.order, {}, &bound_handler::order), b);
    s.current = false;
  }

  void read_unbind() {
    const std::string topic = word();
    const bound_handler b = read_binding();
    const auto state = bus_->topics.find(topic);
    const auto same = [&b](const bound_handler& h) {
      return h.order == b.order && h.handler == b.handler;
    };
    if (state == bus_->topics.end()) throw bad_trace{"this topic has no handler"};
    topic_state& s = state->second;
    const auto at = std::ranges::find_if(s.bound, same);
    if (at == s.bound.end()) throw bad_trace{"this handler is not bound"};
    s.bound.erase(at);
    s.current = false;
  }

  number topic_of(const std::string& name) {
    const auto known = topics_.find(name);
    if (known != topics_.end()) return known->second;
    if (p_.topics.size() >= limits_.profile.topics_max) return profile_edge::none;
    const auto made = static_cast<number>(p_.topics.size());
    p_.topics.push_back({hash_of(name), 0, 0, haltable_.contains(name), name, {}});
    topics_.emplace(name, made);
    return made;
  }

  /// The number of a handler, whose word ends in "#NUMBER" if several handlers have its name.
  number handler_of(const std::string& text) {
    const auto known = handlers_.find(text);
    if (known != handlers_.end()) return known->second;
    if (p_.handlers.size() >= limits_.profile.handlers_max) return profile_edge::none;
    profile_handler h;
    h.name = text;
    const std::size_t mark = text.rfind('#');
    if (mark != text.npos && mark != 0 && text.substr(mark + 1, 1) != "0") {
      const char* const end = text.data() + text.size();
      std::int32_t occurrence = 0;
      const auto [stop, error] = std::from_chars(text.data() + mark + 1, end, occurrence);
      if (error == std::errc() && stop == end && occurrence > 0) {
        h.occurrence = static_cast<number>(occurrence);
        h.name = text.substr(0, mark);
      }
    }
    h.hash = hash_of(h.name);
    const auto made = static_cast<number>(p_.handlers.size());
    p_.handlers.push_back(std::move(h));
    handlers_.emplace(text, made);
    return made;
  }

  void count_edge(edge_kind kind, number from, number handler, number to) {
    if (to == profile_edge::none) {
      ++p_.dropped;
      return;
    }
    const auto key = std::tuple(kind, from, handler, to);
    const auto known = edges_.find(key);
    if (known != edges_.end()) {
      ++p_.edges[known->second].count;
    } else if (p_.edges.size() >= limits_.profile.edges_max) {
      ++p_.dropped;
    } else {
      edges_.emplace(key, p_.edges.size());
      p_.edges.push_back({kind, from, handler, to, 1});
    }
  }

  /// FNV-1a, 64 bits, of a name at run time.
  static std::uint64_t hash_of(std::string_view name) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return hash;
  }

  std::string_view rest_;
  std::string_view left_;  // the words of the current line that are not read yet
  std::size_t line_number_ = 0;
  const trace_limits& limits_;
  profile_data p_;
  std::map<std::uint64_t, bus_state> buses_;
  bus_state* bus_ = nullptr;
  std::map<std::string, number, std::less<>> topics_;
  std::map<std::string, number, std::less<>> handlers_;
  std::map<std::string, bool, std::less<>> haltable_;
  std::map<std::tuple<edge_kind, number, number, number>, std::size_t> edges_;
};

}  // namespace

std::expected<profile_data, profile_problem> profile_of_trace(std::string_view text,
                                                              const trace_limits& limits) {
  trace_reader r(text, limits);
  try {
    return r.read();
  } catch (const bad_trace& e) {
    return std::unexpected(profile_problem{r.line_number(), e.what});
  }
}

bool is_trace(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string first(detail::trace_writer::first_line.size(), '\0');
  in.read(first.data(), static_cast<std::streamsize>(first.size()));
  return in.good() && first == detail::trace_writer::first_line;
}

profile_data read_trace(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in)
    throw failure(std::make_error_code(std::errc::no_such_file_or_directory),
                  path + ": no trace; make one with HEDDLE_BUS_TRACE=FILE PROGRAM");
  auto read = profile_of_trace(std::move(text).str());
  if (!read)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  path + ':' + std::to_string(read.error().line) + ": " + read.error().what +
                      "; trace the program again, into a new file");
  return std::move(*read);
}

}  // namespace heddle

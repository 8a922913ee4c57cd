// SPDX-License-Identifier: MIT
// Parsing hosts(5), resolv.conf(5) and nsswitch.conf(5).
#include "names/system_files.hh"

#include <algorithm>
#include <charconv>

#include "names/name.hh"

namespace heddle::names::detail {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";
constexpr std::uint32_t ndots_limit = 15, tries_limit = 5, timeout_limit_s = 30;  // resolv.conf(5)

/// Takes the first word of a line; empty at its end.
std::string_view next_word(std::string_view& line) {
  const std::size_t from = std::min(line.find_first_not_of(blanks), line.size());
  line.remove_prefix(from);
  const std::string_view word = line.substr(0, line.find_first_of(blanks));
  line.remove_prefix(word.size());
  return word;
}

/// Calls f(line, number) for each line, without its comment.
template <class F>
void for_each_line(std::string_view text, std::string_view comment, F f) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    f(line.substr(0, line.find_first_of(comment)), number);
  }
}

/// The number behind `name`, such as "ndots:", cut to `limit`; nothing for another word.
std::optional<std::uint32_t> setting(std::string_view word, std::string_view name,
                                     std::uint32_t limit) {
  if (!word.starts_with(name)) return {};
  word.remove_prefix(name.size());
  std::uint32_t value = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
  if (read.ec != std::errc() || read.ptr != word.data() + word.size()) return {};
  return std::min(value, limit);
}

void read_options(std::string_view line, resolv_conf& out) {
  for (std::string_view word; !(word = next_word(line)).empty();) {
    if (const auto n = setting(word, "ndots:", ndots_limit)) out.ndots = *n;
    if (const auto n = setting(word, "attempts:", tries_limit)) out.tries = std::max(*n, 1u);
    if (const auto n = setting(word, "timeout:", timeout_limit_s))
      out.timeout = std::chrono::seconds(std::max(*n, 1u));
    if (word == "rotate") out.rotate = true;
    if (word == "use-vc") out.tcp_only = true;
  }
}

}  // namespace

void ignored_lines::note(std::string_view file, std::size_t line, std::string_view why) {
  if (count++ == 0)
    first = std::string(file) + ':' + std::to_string(line) + ": " + std::string(why);
}

host_table read_hosts(std::string_view text, std::string_view file, ignored_lines& ignored) {
  host_table table;
  for_each_line(text, "#", [&](std::string_view line, std::size_t number) {
    const std::string_view number_text = next_word(line);
    if (number_text.empty()) return;
    const auto at = address::parse(number_text);
    if (!at || at->port() != 0) {
      ignored.note(file, number, "the line begins with no address");
      return;
    }
    for (std::string_view name; !(name = next_word(line)).empty();) {
      if (const std::string why = name_problem(name); !why.empty()) {
        ignored.note(file, number, "not a name: " + why);
        continue;
      }
      std::vector<address>& known = table[plain_name(name)];
      if (std::ranges::find(known, *at) == known.end()) known.push_back(*at);
    }
  });
  return table;
}

resolv_conf read_resolv_conf(std::string_view text, std::string_view file,
                             std::uint32_t servers_max, std::uint32_t search_max,
                             ignored_lines& ignored) {
  resolv_conf out;
  for_each_line(text, "#;", [&](std::string_view line, std::size_t number) {
    const std::string_view key = next_word(line);
    if (key == "nameserver") {
      const auto at = address::parse(next_word(line));
      if (!at || at->port() != 0) {
        ignored.note(file, number, "nameserver wants an address");
      } else if (out.servers.size() >= servers_max) {
        ignored.note(file, number, "there are more than resolver_options::servers_max servers");
      } else {
        out.servers.push_back(at->with_port(53));
      }
    } else if (key == "search" || key == "domain") {
      out.search.clear();  // the last line counts
      for (std::string_view word; !(word = next_word(line)).empty();) {
        if (word == ".") continue;
        if (const std::string why = name_problem(word); !why.empty()) {
          ignored.note(file, number, "not a domain: " + why);
        } else if (out.search.size() >= search_max) {
          ignored.note(file, number, "there are more than resolver_options::search_max domains");
        } else {
          out.search.push_back(plain_name(word));
        }
        if (key == "domain") break;
      }
    } else if (key == "options") {
      read_options(line, out);
    }
  });
  return out;
}

std::string foreign_source(std::string_view nsswitch) {
  std::string found;
  for_each_line(nsswitch, "#", [&](std::string_view line, std::size_t) {
    if (next_word(line) != "hosts:" || !found.empty()) return;
    bool in_action = false;  // [NOTFOUND=return], also in several words
    for (std::string_view word; !(word = next_word(line)).empty();) {
      in_action = in_action || word.starts_with('[');
      const bool known = in_action || word == "files" || word == "dns" || word == "resolve";
      if (word.ends_with(']')) in_action = false;
      if (known || !found.empty()) continue;
      found = word;
    }
  });
  return found;
}

}  // namespace heddle::names::detail

// SPDX-License-Identifier: MIT
// The reader of pages: one function for each kind of tag. A tag other than a place that is alone on
// its line takes the line with it, as in Mustache.
#include "web/page_text.hh"

#include <algorithm>
#include <charconv>

namespace heddle::http {
namespace {

constexpr std::string_view page_blanks = " \t\r\n";

bool in_page_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

bool is_page_name(std::string_view name) noexcept {
  return !name.empty() && std::ranges::all_of(name, in_page_name);
}

std::string_view without_page_blanks(std::string_view text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(page_blanks), text.size()));
  while (!text.empty() && page_blanks.contains(text.back())) text.remove_suffix(1);
  return text;
}

std::string section_tag(const page_step& of) {
  return (of.what == page_step::kind::section ? "{{#" : "{{^") + of.text + "}}";
}

/// Reads the words of a tag one after the other.
class tag_words {
 public:
  tag_words(std::string_view text, std::uint32_t line) : rest_(text), line_(line) { skip(); }

  [[nodiscard]] bool done() const noexcept { return rest_.empty(); }
  [[nodiscard]] bool at_text() const noexcept { return rest_.starts_with('"'); }
  [[noreturn]] void fail(const std::string& what) const { throw page_mistake(line_, what); }

  /// Takes this word if it comes next.
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    const bool longer =
        rest_.size() > word.size() && in_page_name(word.back()) && in_page_name(rest_[word.size()]);
    if (longer) return false;
    rest_.remove_prefix(word.size());
    skip();
    return true;
  }
  /// The next word up to a blank, a quote or one of `ends`.
  std::string_view word(std::string_view ends) {
    std::size_t size = 0;
    while (size != rest_.size() && !page_blanks.contains(rest_[size]) && rest_[size] != '"' &&
           !ends.contains(rest_[size]))
      ++size;
    const std::string_view found = rest_.substr(0, size);
    rest_.remove_prefix(size);
    skip();
    return found;
  }
  std::string name(const char* of) {
    const std::string_view found = word("=");
    if (!is_page_name(found))
      fail("'" + std::string(found) + "' is no name of " + of + "; write letters, digits, - _ .");
    return std::string(found);
  }
  /// A text in double quotes; \" and \\ stand for a quote and a backslash.
  std::string text(const char* of) {
    if (!at_text()) fail(std::string(of) + " must be a text in double quotes");
    std::string out;
    for (std::size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        rest_.remove_prefix(i + 1);
        skip();
        return out;
      }
      if (rest_[i] == '\\' && ++i == rest_.size()) break;
      out += rest_[i];
    }
    fail(std::string(of) + " has no closing quote");
  }
  page_term term(const char* of) {
    if (!at_text()) return {true, name(of), {}};
    std::string found = text(of);
    page_value shown(found);
    return {false, std::move(found), std::move(shown)};
  }
  nanoseconds time() {
    const std::string_view found = word("");
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), count);
    const std::string_view unit(end, static_cast<std::size_t>(found.data() + found.size() - end));
    constexpr std::uint64_t count_max = 1'000'000;
    const std::uint64_t scale = unit == "ms" ? 1'000'000 : unit == "s" ? 1'000'000'000 : 0;
    if (error != std::errc() || scale == 0 || count == 0 || count > count_max)
      fail("'" + std::string(found) + "' is no time; write 50ms or 2s");
    return nanoseconds(static_cast<std::int64_t>(count * scale));
  }

 private:
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(page_blanks), rest_.size())); }

  std::string_view rest_;
  std::uint32_t line_;
};

class page_reader {
 public:
  page_reader(std::string_view text, const page_rules& rules) : text_(text), rules_(rules) {}

  page_text read() {
    while (at_ < text_.size()) {
      const std::size_t open = text_.find("{{", at_);
      add_literal(text_.substr(at_, open == text_.npos ? open : open - at_));
      if (open == text_.npos) break;
      line_ += static_cast<std::uint32_t>(
          std::count(text_.begin() + static_cast<std::ptrdiff_t>(counted_),
                     text_.begin() + static_cast<std::ptrdiff_t>(open), '\n'));
      counted_ = at_ = open;
      tag();
    }
    settle_markup();
    if (!open_.empty()) {
      const page_step& last = made_.steps[open_.back().step];
      throw page_mistake(open_.back().line, section_tag(last) + " is not closed");
    }
    if (rules_.how == page_rules::escaping::html && rules_.files && !markup_.in_text())
      fail(
          "the text ends inside a tag, a script or a comment; close it, because the page may be "
          "included");
    return std::move(made_);
  }

 private:
  struct open_section {
    std::size_t step;
    std::uint32_t line;
    page_markup begins;
  };

  [[noreturn]] void fail(const std::string& what) const { throw page_mistake(line_, what); }

  void add_literal(std::string_view literal) {
    if (literal.empty()) return;
    if (made_.steps.empty() || made_.steps.back().what != page_step::kind::text)
      made_.steps.push_back({});
    made_.steps.back().text += literal;
    pending_ = literal;
  }
  /// Gives the literal text before a tag to the reader of HTML.
  void settle_markup() { markup_.read(std::exchange(pending_, {})); }

  void tag() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("{{{")) return place("{{{", "}}}", true);
    const char sigil = rest.size() > 2 ? rest[2] : '\0';
    switch (sigil) {
      case '&':
        return place("{{&", "}}", true);
      case '!': {
        static_cast<void>(take_tag("{{!", false));
        return;
      }
      case '#':
      case '^':
        return section(sigil);
      case '/':
        return end();
      case '>':
      case '=':
        if (!rules_.files) break;
        return sigil == '>' ? include() : source();
      default:
        break;
    }
    place("{{", "}}", false);
  }

  /// Takes a tag, and gives its text. A tag with words may have braces inside of quotes.
  std::string_view take_tag(std::string_view opens, bool has_quotes, bool is_place = false,
                            std::string_view closes = "}}") {
    const std::size_t from = at_ + opens.size();
    bool quoted = false;
    std::size_t close = from;
    for (; close < text_.size(); ++close) {
      if (has_quotes && quoted && text_[close] == '\\') {
        ++close;
      } else if (has_quotes && text_[close] == '"') {
        quoted = !quoted;
      } else if (!quoted && text_.substr(close).starts_with(closes)) {
        break;
      }
    }
    if (close >= text_.size())
      fail(std::string(opens) + " has no " + (quoted ? "closing quote" : std::string(closes)));
    const std::string_view inside = without_page_blanks(text_.substr(from, close - from));
    const std::size_t open = at_;
    at_ = close + closes.size();
    if (!is_place) drop_line(open);
    settle_markup();
    return inside;
  }
  /// Takes the blanks and the line end around a tag that is alone on its line.
  void drop_line(std::size_t open) {
    std::size_t before = open;
    while (before != 0 && (text_[before - 1] == ' ' || text_[before - 1] == '\t')) --before;
    if (before != 0 && text_[before - 1] != '\n') return;
    const std::size_t after = text_.find_first_not_of(" \t\r", at_);
    if (after != text_.npos && text_[after] != '\n') return;
    if (const std::size_t blanks = std::min(open - before, pending_.size()); blanks != 0) {
      pending_.remove_suffix(blanks);
      std::string& literal = made_.steps.back().text;
      literal.resize(literal.size() - blanks);
    }
    at_ = after == text_.npos ? text_.size() : after + 1;
  }

  void place(std::string_view opens, std::string_view closes, bool raw) {
    page_step made{.what = page_step::kind::place};
    made.text = take_tag(opens, false, true, closes);
    if (!is_page_name(made.text))
      fail("'" + made.text + "' is no name of a part; write {{name}} with letters, digits, - _ .");
    if (raw || rules_.how == page_rules::escaping::none) {
      markup_.raw_place();
    } else if (rules_.how == page_rules::escaping::markup) {
      made.escape = page_escape::markup;
    } else {
      std::string why;
      made.escape = markup_.place(why);
      if (!why.empty()) fail("{{" + made.text + "}} " + why);
    }
    made_.steps.push_back(std::move(made));
  }

  void section(char sigil) {
    const std::string_view opens = sigil == '#' ? "{{#" : "{{^";
    page_step made{.what = sigil == '#' ? page_step::kind::section : page_step::kind::inverted};
    made.text = take_tag(opens, false);
    if (!is_page_name(made.text))
      fail("'" + made.text + "' is no name of a section; write letters, digits, - _ .");
    if (open_.size() == rules_.sections_max)
      fail("sections are nested more than " + std::to_string(rules_.sections_max) +
           " levels deep (sections_max)");
    open_.push_back({made_.steps.size(), line_, markup_});
    made_.steps.push_back(std::move(made));
  }

  void end() {
    page_step made{.what = page_step::kind::end};
    made.text = take_tag("{{/", false);
    if (open_.empty()) fail("{{/" + made.text + "}} closes no section");
    const open_section from = std::move(open_.back());
    open_.pop_back();
    page_step& begin = made_.steps[from.step];
    if (begin.text != made.text)
      fail("{{/" + made.text + "}} comes before the end of " + section_tag(begin) + " of line " +
           std::to_string(from.line));
    if (rules_.how == page_rules::escaping::html && !markup_.same_point(from.begins))
      fail(section_tag(begin) + " of line " + std::to_string(from.line) +
           " begins and ends at different points of the HTML, for example one inside a tag and one "
           "outside; put whole tags or whole attributes into it");
    begin.other = made_.steps.size();
    made.other = from.step;
    made_.steps.push_back(std::move(made));
  }

  void include() {
    tag_words words(take_tag("{{>", true), line_);
    page_include made{
        .path = words.at_text() ? words.text("the path") : std::string(words.word("")),
        .line = line_};
    if (made.path.empty()) fail("{{> has no path of a file; write {{> parts/head.page}}");
    if (rules_.how == page_rules::escaping::html && !markup_.in_text())
      fail("{{> " + made.path + "}} is inside a tag, a script or a comment; include it in text");
    while (!words.done()) {
      std::string name = words.name("a value");
      if (!words.take("="))
        fail("{{> " + made.path + "}}: " + name + " has no =; write " + name + "=\"text\" or " +
             name + "=other");
      page_term value = words.term("a value");
      made.values.emplace_back(std::move(name), std::move(value));
    }
    page_step step{.what = page_step::kind::include};
    step.other = made_.includes.size();
    made_.includes.push_back(std::move(made));
    made_.steps.push_back(std::move(step));
  }

  void source() {
    tag_words words(take_tag("{{=", true), line_);
    page_source_line made{.line = line_};
    made.name = words.name("a source");
    if (!words.take("="))
      fail("the source " + made.name + " has no second =; write {{= " + made.name +
           " = fetch \"http://...\" }}");
    made.kind = words.name("a kind of source");
    if (words.at_text()) made.text = words.text("what a source asks for");
    while (!words.done()) {
      if (words.take("within")) {
        made.within = words.time();
      } else if (words.take("else")) {
        made.instead = words.text("the text behind else");
      } else {
        made.terms.push_back(words.term("a value"));
      }
    }
    for (const page_source_line& each : made_.sources)
      if (each.name == made.name)
        fail("the source " + made.name + " is already in line " + std::to_string(each.line));
    made_.sources.push_back(std::move(made));
  }

  std::string_view text_;
  const page_rules& rules_;
  page_text made_;
  std::vector<open_section> open_;
  page_markup markup_;
  std::string_view pending_;  // the literal text that markup_ has not read
  std::size_t at_ = 0;
  std::size_t counted_ = 0;  // line_ is the line of this byte
  std::uint32_t line_ = 1;
};

}  // namespace

page_text read_page(std::string_view text, const page_rules& rules) {
  return page_reader(text, rules).read();
}

}  // namespace heddle::http

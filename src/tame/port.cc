// SPDX-License-Identifier: MIT
// The form for people: ordinary Heddle code, in the file's own layout. Functions return
// heddle::tamed, variables lose their tvars { }, and twait and mkevent are those of the opt-in
// header heddle/core/twait.hh. tamer's interface stays; names that Heddle has too are renamed on
// request.
#include <algorithm>
#include <map>

#include "tame/rewrite.hh"
#include "tame/same_names.hh"

namespace heddle::tame {
namespace {

constexpr const char* wait_header = "#include \"heddle/core/twait.hh\"";
constexpr const char* function_header = "#include \"heddle/core/tamed.hh\"";

class porter {
 public:
  porter(const parsed& p, const translate_options& options)
      : parsed_(p), file_(p.file), found_(p.found), options_(options), edits_(p.file.text()) {}

  void run(translation& out) {
    for (std::size_t i = 0; i < found_.functions.size(); ++i) tamed(found_.functions[i]);
    for (const wait_point& w : found_.waits) wait(w);
    for (const variables& v : found_.vars) tvars(v);
    for (const replacement& r : found_.replacements) replace(r);
    for (const twin_macro& m : found_.twins)
      if (!m.undefined && !m.returns.empty()) used_macro(m);
    rename_api();
    includes();
    out.diff = diff();
    out.text = edits_.apply();
    std::sort(left_.begin(), left_.end(),
              [](const by_hand& a, const by_hand& b) { return a.line < b.line; });
    out.left = std::move(left_);
  }

 private:
  [[nodiscard]] std::string_view text() const noexcept { return file_.text(); }
  [[nodiscard]] std::string text_of(range r) const { return tame::text_of(file_, r); }
  [[nodiscard]] std::string trimmed(range r) const {
    while (r.begin < r.end && is_blank(text()[r.begin])) ++r.begin;
    while (r.begin < r.end && is_blank(text()[r.end - 1])) --r.end;
    std::string out = text_of(r);
    if (out.find("//") == std::string::npos) return out;
    out = parsed_.one_line(r);  // without the comment, which would end the line
    out.erase(0, std::min(out.find_first_not_of(' '), out.size()));
    out.erase(out.find_last_not_of(' ') + 1);
    return out;
  }
  [[nodiscard]] static bool is_blank(char c) noexcept {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
  }
  void leave(range at, std::string what) {
    left_.push_back({file_.line_of(at.begin), std::move(what)});
  }
  /// Removes a word and the blanks behind it.
  void remove_word(range r) {
    while (r.end < text().size() && (text()[r.end] == ' ' || text()[r.end] == '\t')) ++r.end;
    edits_.replace(r, "");
  }

  void tamed(const function& f) {
    if (f.keyword.empty()) {  // the body of a macro that waits
      for (const range r : f.returns) edits_.insert(r.begin, "co_");
      return;
    }
    if (text_of(f.keyword) != "tamed") return;  // the keyword is a macro, which is ported itself
    if (!f.default_return.empty())
      return leave(f.name,
                   "a function that returns before it ends: give it an event for the result");
    if (f.is_lambda()) {
      edits_.replace(f.keyword, f.trailing_result ? "" : "-> heddle::tamed");
      if (f.trailing_result) leave(f.keyword, "a tamed lambda with a return type of its own");
    } else if (f.trailing_result) {
      remove_word(f.keyword);
      if (text_of(f.result) == "void") {
        edits_.replace(f.result, "heddle::tamed");
      } else {
        leave(f.keyword, "a trailing return type: make it heddle::tamed");
      }
    } else if (f.has_result() && !f.result.empty() && text_of(f.result) == "void") {
      if (f.result.begin > f.keyword.begin) {
        remove_word(f.keyword);
      } else {
        range blank{f.result.end, f.keyword.end};
        edits_.replace(blank, "");
      }
      edits_.replace(f.result, "heddle::tamed");
    } else if (!f.has_result() && !f.name.empty() && parsed_.template_follows(f)) {
      remove_word(f.keyword);
      edits_.insert(f.name.begin, "heddle::tamed ");
    } else if (!f.has_result() || f.by_macro()) {
      edits_.replace(f.keyword, "heddle::tamed");
    } else {
      remove_word(f.keyword);
      leave(f.keyword, "the return type is no `void`: make it heddle::tamed");
    }
    if (f.what == function::form::declaration) return;
    for (const range r : f.returns) edits_.insert(r.begin, "co_");
    if (f.waits() || f.close.empty()) return;
    // Without a wait, only co_return makes the function a coroutine.
    edits_.insert(f.close.begin,
                  own_line(f) ? "  co_return;\n" + indent(f.close.begin) : "co_return; ");
  }
  /// Whether the closing bracket is first in its line.
  [[nodiscard]] bool own_line(const function& f) const noexcept {
    return line_start(f.close.begin) > f.open.end;
  }
  [[nodiscard]] std::uint32_t line_start(std::uint32_t at) const noexcept {
    while (at > 0 && text()[at - 1] != '\n') --at;
    return at;
  }
  [[nodiscard]] std::string indent(std::uint32_t at) const {
    const std::uint32_t start = line_start(at);
    std::uint32_t end = start;
    while (end < text().size() && (text()[end] == ' ' || text()[end] == '\t')) ++end;
    return text_of({start, end});
  }

  void wait(const wait_point& w) {
    if (!w.function) {
      leave(w.keyword, "a threaded function: run it on a fiber (heddle/fiber/twait.hh)");
      return;
    }
    if (w.what == wait_point::kind::all) {
      uses_waits_ = true;
      if (!w.quiet.empty()) {
        remove_word(w.quiet);
        leave(w.quiet, "twait volatile: a dropped event is reported now; unblock it instead");
      }
      if (!w.description.empty()) {
        remove_word({w.description.begin - 1, w.description.end + 1});
        leave(w.description, "the description of a twait: Heddle's dumps show the line alone");
      }
      return;
    }
    const std::string r = trimmed(w.arguments.front());
    std::string out = "co_await " + r;
    if (w.arguments.size() == 2) out = trimmed(w.arguments[1]) + " = " + out;
    if (w.arguments.size() > 2) {
      out = ") = " + out;
      for (std::size_t i = w.arguments.size() - 1; i > 0; --i)
        out = trimmed(w.arguments[i]) + (i + 1 == w.arguments.size() ? "" : ", ") + out;
      out = "std::tie(" + out;
    }
    if (w.used || (!w.statement && w.arguments.size() > 1)) out = "(" + out + ")";
    edits_.replace({w.keyword.begin, w.close.end}, std::move(out));
  }

  void tvars(const variables& v) {
    const std::uint32_t start = line_start(v.keyword.begin);
    const bool several = text_of({v.open.end, v.close.begin}).find('\n') != std::string::npos;
    write_initializers(edits_, v);
    std::uint32_t end = v.close.end;  // a semicolon behind the bracket is removed, too
    while (end < text().size() && (text()[end] == ' ' || text()[end] == '\t')) ++end;
    if (end < text().size() && text()[end] == ';')
      ++end;
    else
      end = v.close.end;
    std::uint32_t first = v.open.end;
    while (first < v.close.begin && (text()[first] == ' ' || text()[first] == '\t')) ++first;
    if (!several) {
      std::uint32_t last = v.close.begin;
      while (last > first && (text()[last - 1] == ' ' || text()[last - 1] == '\t')) --last;
      edits_.replace({v.keyword.begin, first}, "");
      edits_.replace({last, end}, "");
      return;
    }
    // Lines that hold only the brackets are removed; the lines between move to the left.
    const bool alone =
        text_of({start, v.keyword.begin}).find_first_not_of(" \t") == std::string::npos;
    const bool opens_line =
        first < text().size() && (text()[first] == '\n' || text()[first] == '\r');
    const std::string outer = indent(v.keyword.begin);
    std::uint32_t body = first;
    if (alone && opens_line) {
      while (text()[body] != '\n') ++body;
      ++body;
      edits_.replace({start, body}, "");
    } else {
      edits_.replace({v.keyword.begin, first}, "");
    }
    const std::uint32_t close_line = line_start(v.close.begin);
    for (std::uint32_t line = line_start(body) < body ? next_line(body) : body; line < close_line;
         line = next_line(line)) {
      const std::string inner = indent(line);
      if (inner.size() <= outer.size() || !inner.starts_with(outer)) continue;
      edits_.replace({line + static_cast<std::uint32_t>(outer.size()),
                      line + static_cast<std::uint32_t>(inner.size())},
                     "");
    }
    if (close_line > body &&
        text_of({close_line, v.close.begin}).find_first_not_of(" \t") == std::string::npos) {
      std::uint32_t after = end;
      while (after < text().size() &&
             (text()[after] == ' ' || text()[after] == '\t' || text()[after] == '\r'))
        ++after;
      if (after < text().size() && text()[after] == '\n') {
        edits_.replace({close_line, after + 1}, "");
        return;
      }
    }
    edits_.replace({v.close.begin, end}, "");
  }
  [[nodiscard]] std::uint32_t next_line(std::uint32_t at) const noexcept {
    while (at < text().size() && text()[at] != '\n') ++at;
    return at < text().size() ? at + 1 : at;
  }

  void replace(const replacement& r) {
    switch (r.what) {
      case replacement::kind::qualification:
      case replacement::kind::closure:
        return edits_.replace(r.where, "");
      case replacement::kind::closure_result:
        return edits_.replace(r.where, "heddle::tamed");
      case replacement::kind::self:
        return edits_.replace(r.where, "this");
      case replacement::kind::holdvar:
        return remove_word(r.where);
      case replacement::kind::maker:
      case replacement::kind::maker_outside:
        uses_waits_ = true;
        if (text_of(r.where) != "mkevent") edits_.replace(r.where, "mkevent");
        return;
      case replacement::kind::macro_use:
        ++macro_uses_[text_of(r.where)];
        return;
      case replacement::kind::leaves_body:
        leave(r.where, "`" + text_of(r.where) +
                           "` in a twait body: if it leaves the body, it now leaves the body only");
        return;
    }
  }

  void used_macro(const twin_macro& m) {
    if (!macro_uses_.contains(text_of(m.name))) return;
    leave(m.name, "the macro " + text_of(m.name) +
                      " returns and is used in tamed functions: give it co_return there");
  }

  void rename_api() {
    std::map<std::string, std::pair<std::size_t, std::uint32_t>> rest;
    for (const range r : found_.api) {
      const std::string whole = text_of(r);
      const std::string name = whole.substr(whole.rfind(':') + 1);
      const auto same = std::find_if(std::begin(same_names), std::end(same_names),
                                     [&](const auto& n) { return n.tamer == name; });
      if (name == "make_event" || name == "mkevent") continue;
      if (options_.rename_api && same != std::end(same_names)) {
        edits_.replace(r, same->heddle);
      } else if (same == std::end(same_names)) {
        auto& [uses, line] = rest[name];
        if (uses++ == 0) line = file_.line_of(r.begin);
      }
    }
    if (!options_.rename_api) return;
    for (const auto& [name, uses] : rest)
      left_.push_back({uses.second, "tamer::" + name + ", " + std::to_string(uses.first) +
                                        (uses.first == 1 ? " use" : " uses")});
  }

  void includes() {
    if (!found_.has_tame) return;
    const char* const needed = uses_waits_ ? wait_header : function_header;
    if (text().find(needed) != std::string_view::npos) return;
    const std::string line = needed;
    if (found_.after_includes != 0) {
      const std::uint32_t below = next_line(found_.after_includes);
      const bool ends = below > 0 && text()[below - 1] == '\n';
      edits_.insert(below, ends ? line + "\n" : "\n" + line);
    } else {
      edits_.insert(text().starts_with("\xef\xbb\xbf") ? 3 : 0, line + "\n");
    }
  }

  /// The unified diff, with three lines around each change. It is made from the edits.
  [[nodiscard]] std::string diff() {
    struct run {
      std::uint32_t first, last;  // lines of the source
      std::size_t from, to;       // edits
    };
    std::vector<run> runs;
    const std::vector<edit>& all = edits_.sorted();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint32_t first = file_.line_of(all[i].begin);
      std::uint32_t last = file_.line_of(all[i].end);
      if (last > first && file_.offset_of({last, 1}) == all[i].end) --last;
      // Whole lines that are added change none.
      if (all[i].begin == all[i].end && all[i].text.ends_with('\n') &&
          file_.offset_of({first, 1}) == all[i].begin)
        last = first - 1;
      if (!runs.empty() && first <= runs.back().last) {
        runs.back().last = std::max(runs.back().last, last);
        runs.back().to = i + 1;
      } else {
        runs.push_back({first, last, i, i + 1});
      }
    }
    std::string out;
    if (runs.empty()) return out;
    out += "--- " + file_.path() + "\n+++ " + file_.path() + "\n";
    constexpr std::uint32_t around = 3;
    std::int64_t shift = 0;
    for (std::size_t i = 0; i < runs.size();) {
      std::size_t end = i + 1;
      while (end < runs.size() && runs[end].first <= runs[end - 1].last + 2 * around) ++end;
      const std::uint32_t first = runs[i].first > around ? runs[i].first - around : 1;
      const std::uint32_t last = std::min(runs[end - 1].last + around, lines());
      std::string body;
      std::uint32_t line = first;
      std::uint32_t old_lines = 0, new_lines = 0;
      const auto context = [&](std::uint32_t until) {
        for (; line < until; ++line, ++old_lines, ++new_lines)
          body += " " + std::string(file_.line_text(line)) + "\n";
      };
      for (std::size_t k = i; k < end; ++k) {
        context(runs[k].first);
        for (; line <= runs[k].last; ++line, ++old_lines)
          body += "-" + std::string(file_.line_text(line)) + "\n";
        const std::string now = changed(runs[k].first, runs[k].last, runs[k].from, runs[k].to);
        for (std::size_t at = 0; at < now.size();) {
          std::size_t stop = now.find('\n', at);
          if (stop == std::string::npos) stop = now.size();
          body += "+" + now.substr(at, stop - at) + "\n";
          ++new_lines;
          at = stop + 1;
        }
      }
      context(last + 1);
      out += "@@ -" + std::to_string(first) + "," + std::to_string(old_lines) + " +" +
             std::to_string(first + shift) + "," + std::to_string(new_lines) + " @@\n" + body;
      shift += std::int64_t{new_lines} - std::int64_t{old_lines};
      i = end;
    }
    return out;
  }
  [[nodiscard]] std::uint32_t lines() const noexcept {
    const std::uint32_t n = file_.line_count();
    return n > 1 && file_.line_text(n).empty() ? n - 1 : n;
  }
  [[nodiscard]] std::string changed(std::uint32_t first, std::uint32_t last, std::size_t from,
                                    std::size_t to) {
    std::uint32_t at = file_.offset_of({first, 1});
    const std::uint32_t end =
        last >= file_.line_count() ? file_.size() : file_.offset_of({last + 1, 1});
    std::string out;
    const std::vector<edit>& all = edits_.sorted();
    for (std::size_t i = from; i < to; ++i) {
      if (all[i].begin < at) continue;
      out += text().substr(at, all[i].begin - at);
      out += all[i].text;
      at = all[i].end;
    }
    if (at < end) out += text().substr(at, end - at);
    return out;
  }

  const parsed& parsed_;
  const source::source_file& file_;
  const analysis& found_;
  const translate_options& options_;
  edit_list edits_;
  std::vector<by_hand> left_;
  std::map<std::string, std::size_t> macro_uses_;
  bool uses_waits_ = false;
};

}  // namespace

translation port(const source::source_file& file, const translate_options& options,
                 source::diagnostics& out) {
  const parsed p(file, options, out);
  translation t = p.begin();
  if (out.has_errors()) return t;
  for (const lint& l : p.found.lints) {
    source::diagnostic& d = out.warning(l.code, {&file, l.where.begin, l.where.end}, l.message);
    if (!l.other.empty()) d.notes.push_back({{&file, l.other.begin, l.other.end}, l.about_other});
    d.hint = l.hint;
  }
  if (!t.changed && !options.rename_api) {
    t.text = std::string(file.text());
    return t;
  }
  porter(p, options).run(t);
  return t;
}

}  // namespace heddle::tame

// SPDX-License-Identifier: MIT
// The form for the compiler: insertions inside of lines, and one #line at the top. The
// insertions name heddle::tame, which the compatibility headers declare.
#include "tame/translate.hh"

#include <algorithm>
#include <cctype>
#include <unordered_map>
#include <unordered_set>

#include "tame/rewrite.hh"

namespace heddle::tame {
namespace {

/// The place of this word, as a whole word, in the text; npos if it is not there.
std::size_t find_word(std::string_view text, std::string_view word) noexcept {
  const auto in_name = [&](std::size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
  };
  std::size_t at = text.find(word);
  while (at != std::string_view::npos &&
         ((at != 0 && in_name(at - 1)) || in_name(at + word.size())))
    at = text.find(word, at + 1);
  return at;
}

class builder {
 public:
  builder(const parsed& p, const translate_options& options)
      : parsed_(p), file_(p.file), found_(p.found), options_(options), edits_(p.file.text()) {}

  std::string run() {
    note_used_twins();
    for (const twin_macro& m : found_.twins)
      if (used_.contains(text(m.name))) twin(m);
    for (const scanned_include& i : parsed_.includes) twins_of_header(i);
    for (const wait_point& w : found_.waits) wait(w);
    for (const variables& v : found_.vars) tvars(v);
    for (const replacement& r : found_.replacements) replace(r);
    for (std::size_t i = 0; i < found_.functions.size(); ++i) tamed(found_.functions[i], i);
    std::string out = edits_.apply();
    if (!options_.line_directives) return out;
    const std::size_t mark = out.starts_with("\xef\xbb\xbf") ? 3 : 0;
    out.insert(mark, source::line_directive(1, file_.path()) + "\n");
    return out;
  }

 private:
  [[nodiscard]] bool waits(function_index f) const {
    while (f && found_.at(f).same_as) f = found_.at(f).same_as;
    return f && found_.at(f).waits();
  }
  [[nodiscard]] std::string_view text(range r) const noexcept {
    return file_.text().substr(r.begin, r.end - r.begin);
  }

  void tamed(const function& f, std::size_t index) {
    const bool returns_type = options_.returns != "void";
    // Another type than void makes every tamed function a coroutine: callers see one type.
    const bool coroutine = waits(function_index(index)) || returns_type;
    const bool is_word = text(f.keyword) == "tamed";  // false: a macro holds the word
    if (!f.default_return.empty()) return returns_early(f, waits(function_index(index)));
    if (f.is_lambda() && coroutine && !f.trailing_result) {
      edits_.replace(f.keyword, "-> " + options_.returns);
    } else if (!f.keyword.empty() && is_word) {
      if (f.has_result() || f.is_lambda()) {
        edits_.blank(f.keyword);
      } else if (f.is_template && f.name.begin > f.keyword.end && parsed_.template_follows(f)) {
        edits_.blank(f.keyword);  // tamed template <class T> f()
        edits_.insert(f.name.begin, options_.returns + " ");
      } else {
        edits_.replace(f.keyword, options_.returns + " ");
      }
    }
    if (returns_type && !f.result.empty() && text(f.result) == "void")
      edits_.replace(f.result, options_.returns);
    if (!coroutine) return;
    for (const range r : f.returns) edits_.insert(r.begin, "co_");
    if (!f.close.empty()) edits_.insert(f.close.begin, "co_return; ");
  }

  /// A function with DEFAULT_RETURN becomes two: a tamed one, and behind it the one that programs
  /// call, which starts it and returns what it returned so far, or the default.
  void returns_early(const function& f, bool waits) {
    edits_.blank(f.default_return);
    const std::string statements = parsed_.one_line(f.default_statements);
    if (!waits) {  // an ordinary function
      edits_.blank(f.keyword);
      edits_.insert(f.close.begin, statements + " ");
      return;
    }
    const std::string name(text(f.name));
    const std::string before(text(f.statement));
    std::string specifiers;
    std::string type = parsed_.one_line({f.keyword.end, f.name.begin});
    for (const char* word : {"static", "inline", "extern"}) {
      const std::size_t at = find_word(type, word);
      if (at == std::string::npos) continue;
      specifiers += std::string(word) + " ";
      type.erase(at, std::string_view(word).size());
    }
    std::string declared, defined, passed;
    std::size_t unnamed = 0;
    for (const parameter& p : f.parameters) {
      const std::string separator = declared.empty() ? "" : ", ";
      std::string own = parsed_.one_line(p.whole);
      std::string its_name(text(p.name));
      if (p.name.empty()) {
        its_name = "heddle_unnamed_" + std::to_string(unnamed++);
        edits_.insert(p.whole.end, " " + its_name);
        own += " " + its_name;
      }
      declared += separator + own;
      passed += ", static_cast<decltype(" + its_name + ")&&>(" + its_name + ")";
    }
    while (type.starts_with(' ')) type.erase(0, 1);
    while (type.ends_with(' ')) type.pop_back();
    const std::string early = "::heddle::tame::early_return<" + type + ">";
    const std::string head = specifiers + type + " " + name + "(" + declared + ")";
    const std::string_view old = text({f.keyword.begin, f.name.begin});
    std::string start(static_cast<std::size_t>(std::count(old.begin(), old.end(), '\n')), '\n');
    start += head + "; " + specifiers + "void heddle_starts_";
    edits_.replace({f.keyword.begin, f.name.begin}, std::move(start));
    edits_.insert(f.parameters_begin, early + " heddle_early" + (declared.empty() ? "" : ", "));
    for (const range r : f.returns) {
      edits_.insert(r.begin, "co_");
      if (const std::uint32_t end = end_of_statement(r.end); end != r.end) {
        edits_.insert(r.end, " heddle_early.set(");
        edits_.insert(end, ")");
      }
    }
    edits_.insert(f.close.begin, "co_return; ");
    edits_.insert(f.close.end, " " + before + head + " { " + early +
                                   " heddle_early; heddle_starts_" + name + "(heddle_early" +
                                   passed +
                                   "); if (heddle_early.has()) return heddle_early.take(); " +
                                   statements + " }");
  }
  /// The semicolon of `return e;`; `from` itself when only space comes before it.
  [[nodiscard]] std::uint32_t end_of_statement(std::uint32_t from) const {
    constexpr int tokens_max = 4096;  // tokens of an expression; the limit keeps the time linear
    int depth = 0;
    bool any = false;
    int seen = 0;
    for (auto t = parsed_.token_at(from); t != parsed_.tokens.all.end(); ++t) {
      if (++seen > tokens_max) return from;
      if (t->is("(") || t->is("{") || t->is("[")) ++depth;
      if (t->is(")") || t->is("}") || t->is("]")) --depth;
      if (depth < 0 || (depth == 0 && t->is(";"))) return any ? t->begin : from;
      any = any || t->significant();
    }
    return from;
  }

  void wait(const wait_point& w) {
    const bool thread = !w.function;
    if (w.what == wait_point::kind::next) {
      std::string call =
          thread ? "::heddle::tame::next_in_thread" : "co_await ::heddle::tame::next";
      if (w.used) call = "(" + call;
      edits_.replace(w.keyword, std::move(call));
      if (w.used) edits_.insert(w.close.end, ")");
      return;
    }
    edits_.replace(w.keyword, "{ ::heddle::tame::gather heddle_gather;");
    if (!w.quiet.empty()) edits_.blank(w.quiet);
    edits_.insert(w.open.end,
                  options_.language == dialect::tame
                      ? " [[maybe_unused]] const ::heddle::tame::tame_maker "
                        "make_event(heddle_gather); [[maybe_unused]] const auto& mkevent = "
                        "make_event; [[maybe_unused]] const ::heddle::tame::forker "
                        "tfork(heddle_gather);"
                      : " [[maybe_unused]] const ::heddle::tame::maker make_event(heddle_gather); "
                        "[[maybe_unused]] const auto& mkevent = make_event;");
    std::string end;
    if (!w.description.empty()) {
      edits_.blank({w.description.begin - 1, w.description.end + 1});
      end += " if (::heddle::tame::describing()) heddle_gather.describe(" +
             parsed_.one_line(w.description) + ");";
    }
    if (thread) {
      end += " ::heddle::tame::wait_in_thread(heddle_gather); }";
    } else {
      end += w.quiet.empty() ? " co_await heddle_gather; }" : " co_await heddle_gather.quiet(); }";
    }
    edits_.insert(w.close.end, std::move(end));
  }

  void tvars(const variables& v) {
    edits_.blank(v.keyword);
    edits_.blank(v.open);
    edits_.blank(v.close);
    write_initializers(edits_, v);
  }

  void replace(const replacement& r) {
    switch (r.what) {
      case replacement::kind::qualification:
      case replacement::kind::closure:
        return edits_.blank(r.where);
      case replacement::kind::closure_result:
        if (options_.returns != "void") edits_.replace(r.where, options_.returns);
        return;
      case replacement::kind::self:
        return edits_.replace(r.where, "this ");
      case replacement::kind::holdvar:
        return edits_.replace(r.where, "[[maybe_unused]]");
      case replacement::kind::macro_use:
        if (waits(r.function)) edits_.insert(r.where.begin, twin_prefix);
        return;
      case replacement::kind::maker:
      case replacement::kind::maker_outside:
      case replacement::kind::leaves_body:
        return;
    }
  }

  /// Notes the macros that tamed functions use, and the macros that those macros use.
  void note_used_twins() {
    if (found_.twins.empty() && parsed_.includes.empty()) return;
    std::vector<std::string_view> next;
    for (const replacement& r : found_.replacements)
      if (r.what == replacement::kind::macro_use && waits(r.function) &&
          used_.insert(text(r.where)).second)
        next.push_back(text(r.where));
    std::unordered_multimap<std::string_view, const twin_macro*> by_name;
    for (const twin_macro& m : found_.twins) by_name.emplace(text(m.name), &m);
    while (!next.empty()) {
      const std::string_view name = next.back();
      next.pop_back();
      const auto [from, to] = by_name.equal_range(name);
      for (auto m = from; m != to; ++m)
        for (const range r : m->second->uses)
          if (used_.insert(text(r)).second) next.push_back(text(r));
      for (const scanned_include& i : parsed_.includes)
        for (const header_macro& m : i.macros)
          if (m.name == name)
            for (const std::string& other : m.uses)
              if (used_.insert(other).second) next.push_back(other);
    }
  }

  /// Adds the twin in lines of its own behind the definition; #line corrects the line numbers.
  void twin(const twin_macro& m) { add_lines(m.end, "\n" + twin_of(file_, m)); }
  void twins_of_header(const scanned_include& i) {
    std::string lines;
    for (const header_macro& m : i.macros)
      if (used_.contains(m.name)) lines += "\n" + m.twin;
    if (!lines.empty()) add_lines(i.end, std::move(lines));
  }
  void add_lines(std::uint32_t end, std::string lines) {
    if (options_.line_directives)
      lines += "\n" + source::line_directive(file_.line_of(end) + 1, file_.path());
    edits_.insert(end, std::move(lines));
  }

  const parsed& parsed_;
  const source::source_file& file_;
  const analysis& found_;
  const translate_options& options_;
  edit_list edits_;
  std::unordered_set<std::string_view> used_;  ///< macros that need a twin
};

}  // namespace

translation translate(const source::source_file& file, const translate_options& options,
                      source::diagnostics& out) {
  const parsed p(file, options, out);
  translation t = p.begin();
  if (!out.has_errors()) t.text = builder(p, options).run();
  return t;
}

}  // namespace heddle::tame

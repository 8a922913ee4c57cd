// SPDX-License-Identifier: MIT
// Steps that both outputs share.
#include "tame/rewrite.hh"

#include <algorithm>

namespace heddle::tame {

parsed::parsed(const source::source_file& f, const translate_options& options,
               source::diagnostics& out)
    : file(f), tokens(tokenize(f.text())) {
  if (options.scan_includes)
    includes = tame::scan_includes(file, tokens, options.language, options.folders, headers);
  found = analyze(file, tokens, options.language, out, includes);
}

std::vector<token>::const_iterator parsed::token_at(std::uint32_t offset) const {
  return std::lower_bound(tokens.all.begin(), tokens.all.end(), offset,
                          [](const token& t, std::uint32_t place) { return t.begin < place; });
}

bool parsed::template_follows(const function& f) const {
  for (auto t = token_at(f.keyword.end); t != tokens.all.end(); ++t)
    if (t->significant()) return t->is(word::template_);
  return false;
}

std::string parsed::one_line(range r) const {
  std::string out;
  for (auto t = token_at(r.begin); t != tokens.all.end() && t->end <= r.end; ++t) {
    if (t->kind == token_kind::space || t->kind == token_kind::comment) {
      out += ' ';
    } else if (t->kind != token_kind::directive) {
      out += tokens.spelling(*t);
    }
  }
  return out;
}

translation parsed::begin() const {
  translation t;
  for (const function& f : found.functions) {
    if (f.keyword.empty()) continue;
    ++(f.what == function::form::declaration ? t.counts.declarations : t.counts.functions);
  }
  t.counts.waits = found.waits.size();
  t.counts.variables = found.vars.size();
  t.changed = found.has_tame;
  t.read = headers;
  return t;
}

void write_initializers(edit_list& edits, const variables& v) {
  for (const initializer& i : v.changes) {
    if (i.what == initializer::change::empty) {
      edits.replace({i.value.begin, i.value.begin + 1}, "{");
      edits.replace({i.value.end - 1, i.value.end}, "}");
    } else {
      edits.insert(i.value.begin, "(");
      edits.insert(i.value.end, ")");
    }
  }
}

std::string twin_of(const source::source_file& file, const twin_macro& m) {
  if (m.undefined) return "#undef " + std::string(twin_prefix) + text_of(file, m.name);
  edit_list body(file.text().substr(m.begin, m.end - m.begin));
  body.insert(m.name.begin - m.begin, twin_prefix);
  for (const range r : m.returns) body.insert(r.begin - m.begin, "co_");
  for (const range r : m.uses) body.insert(r.begin - m.begin, twin_prefix);
  return body.apply();
}

std::string output_name(const std::string& source) {
  static constexpr struct {
    const char* from;
    const char* to;
  } suffixes[] = {{".tcc", ".cc"}, {".thh", ".hh"}, {".txx", ".cc"}, {".tpp", ".cc"},
                  {".tt", ".cc"},  {".th", ".hh"},  {".T", ".C"}};
  for (const auto& s : suffixes)
    if (source.ends_with(s.from))
      return source.substr(0, source.size() - std::string_view(s.from).size()) + s.to;
  return source + ".cc";
}

}  // namespace heddle::tame

// SPDX-License-Identifier: MIT
// --scan-includes: headers are read for macros that return, so that tamed functions can use them.
// Nothing else of a header counts, and conditions in it are not looked at.
#include <filesystem>
#include <unordered_set>

#include "tame/rewrite.hh"

namespace heddle::tame {
namespace {

/// Headers in headers; deeper ones are left out.
constexpr int depth_max = 16;

struct include_line {
  std::string name;
  bool beside = false;  ///< "name": looked for beside the file first
};

/// The name in an #include line; empty for other directives, and for names that a macro makes.
include_line included(const token_list& tokens, const token& directive) {
  std::string text;
  bool is_include = false;
  for (std::uint32_t k = 0; k < directive.count; ++k) {
    const token& t = tokens.inside[directive.first + k];
    if (t.is(word::include_)) {
      is_include = true;
    } else if (is_include && t.kind != token_kind::comment && t.kind != token_kind::space) {
      text += tokens.text_of(t);
    }
  }
  if (!is_include || text.size() < 3) return {};
  const bool quoted = text.front() == '"' && text.back() == '"';
  if (!quoted && !(text.front() == '<' && text.back() == '>')) return {};
  return {text.substr(1, text.size() - 2), quoted};
}

std::vector<std::string> names_of(const source::source_file& file, const std::vector<range>& all) {
  std::vector<std::string> out;
  for (const range r : all) out.push_back(text_of(file, r));
  return out;
}

class scanner {
 public:
  scanner(dialect language, const std::vector<std::string>& folders, std::vector<std::string>& read)
      : language_(language), folders_(folders), read_(read) {}

  std::vector<header_macro> header(const include_line& line, const std::filesystem::path& from,
                                   int depth) {
    std::vector<header_macro> out;
    const std::string path = find(line, from);
    if (path.empty() || depth > depth_max || !seen_.insert(path).second) return out;
    const auto text = source::read_text(path);
    if (!text) return out;
    read_.push_back(path);
    const source::source_file file(path, *text);
    const token_list tokens = tokenize(file.text());
    std::vector<scanned_include> deeper;
    for (const token& t : tokens.all) {
      if (t.kind != token_kind::directive) continue;
      const include_line inner = included(tokens, t);
      if (inner.name.empty()) continue;
      std::vector<header_macro> theirs =
          header(inner, std::filesystem::path(path).parent_path(), depth + 1);
      if (theirs.empty()) continue;
      out.insert(out.end(), theirs.begin(), theirs.end());
      deeper.push_back({t.begin, t.end, std::move(theirs)});
    }
    source::diagnostics unsaid;  // the header is not ours to judge
    for (const twin_macro& m : analyze(file, tokens, language_, unsaid, deeper).twins)
      out.push_back({text_of(file, m.name), twin_of(file, m), names_of(file, m.uses)});
    return out;
  }

 private:
  [[nodiscard]] std::string find(const include_line& line,
                                 const std::filesystem::path& from) const {
    std::error_code failed;
    if (line.beside) {
      const std::filesystem::path here = from / line.name;
      if (std::filesystem::is_regular_file(here, failed)) return here.lexically_normal().string();
    }
    for (const std::string& folder : folders_) {
      const std::filesystem::path there = std::filesystem::path(folder) / line.name;
      if (std::filesystem::is_regular_file(there, failed)) return there.lexically_normal().string();
    }
    return {};
  }

  dialect language_;
  const std::vector<std::string>& folders_;
  std::vector<std::string>& read_;
  std::unordered_set<std::string> seen_;
};

}  // namespace

std::vector<scanned_include> scan_includes(const source::source_file& file,
                                           const token_list& tokens, dialect language,
                                           const std::vector<std::string>& folders,
                                           std::vector<std::string>& read) {
  std::vector<scanned_include> out;
  scanner all(language, folders, read);
  const std::filesystem::path from = std::filesystem::path(file.path()).parent_path();
  for (const token& t : tokens.all) {
    if (t.kind != token_kind::directive) continue;
    const include_line line = included(tokens, t);
    if (line.name.empty()) continue;
    std::vector<header_macro> macros = all.header(line, from, 0);
    if (!macros.empty()) out.push_back({t.begin, t.end, std::move(macros)});
  }
  return out;
}

}  // namespace heddle::tame

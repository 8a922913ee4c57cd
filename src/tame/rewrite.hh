// SPDX-License-Identifier: MIT
// Steps that both outputs share: reading a file, and writing variables of tvars as statements.
#pragma once

#include "tame/analysis.hh"
#include "tame/edits.hh"
#include "tame/translate.hh"

namespace heddle::tame {

/// A file with what the parser found in it.
struct parsed {
  parsed(const source::source_file& f, const translate_options& options, source::diagnostics& out);

  const source::source_file& file;
  token_list tokens;
  std::vector<std::string> headers;  ///< headers that were read for their macros
  std::vector<scanned_include> includes;
  analysis found;

  /// The text of a range without comments and line ends.
  [[nodiscard]] std::string one_line(range r) const;
  /// The token that begins at the offset, or the first behind it.
  [[nodiscard]] std::vector<token>::const_iterator token_at(std::uint32_t offset) const;
  /// Whether `template` is behind the keyword: tamed template <class T> f()
  [[nodiscard]] bool template_follows(const function& f) const;
  /// A translation without text.
  [[nodiscard]] translation begin() const;
};

/// Rewrites variables that would declare functions as statements: `T x(g());` and `T x();`.
void write_initializers(edit_list& edits, const variables& v);

/// The definition of a macro under its twin's name, with the lines of the macro.
[[nodiscard]] std::string twin_of(const source::source_file& file, const twin_macro& m);
inline constexpr const char* twin_prefix = "heddle_tame_";

/// The macros of the headers that a file includes, with their twins. A header is looked for beside
/// the file that includes it, and in `folders`. `read` gets the paths of those that were found.
[[nodiscard]] std::vector<scanned_include> scan_includes(const source::source_file& file,
                                                         const token_list& tokens, dialect language,
                                                         const std::vector<std::string>& folders,
                                                         std::vector<std::string>& read);

}  // namespace heddle::tame

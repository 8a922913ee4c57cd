// SPDX-License-Identifier: MIT
// From Tame source to C++23: for the compiler, where line n stays line n and a compiler's messages
// name the source; or for people, as a port for good.
#pragma once

#include <string>
#include <vector>

#include "tame/analysis.hh"

namespace heddle::tame {

struct translate_options {
  dialect language = dialect::tamer;
  bool line_directives = true;
  std::string returns = "void";           ///< the type of tamed functions for the compiler
  bool scan_includes = false;             ///< read headers for macros that return
  std::vector<std::string> folders = {};  ///< where these headers are looked for
  bool rename_api = false;                ///< a port renames the tamer:: names that Heddle has too
};

struct summary {
  std::size_t functions = 0;  ///< tamed functions that are defined here
  std::size_t declarations = 0;
  std::size_t waits = 0;
  std::size_t variables = 0;  ///< tvars blocks
};

/// Something that the port leaves to people.
struct by_hand {
  std::uint32_t line = 0;
  std::string what;
};

struct translation {
  std::string text;
  summary counts;
  bool changed = false;  ///< the file has something of the dialect in it
  std::string diff;      ///< the unified diff of a port, without colors
  std::vector<by_hand> left = {};
  std::vector<std::string> read = {};  ///< headers that were read
};

/// The form for the compiler. When `out` has errors afterwards there is no text.
[[nodiscard]] translation translate(const source::source_file& file,
                                    const translate_options& options, source::diagnostics& out);

/// The form for people: the file ported to plain C++ on Heddle.
[[nodiscard]] translation port(const source::source_file& file, const translate_options& options,
                               source::diagnostics& out);

/// a.tcc -> a.cc, a.thh -> a.hh, a.T -> a.C; another name gets .cc.
[[nodiscard]] std::string output_name(const std::string& source);

}  // namespace heddle::tame

// SPDX-License-Identifier: MIT
// Compiling a text in a test: its diagnostics, or any stage's result.
#pragma once

#include <string>

#include "draft/tool.hh"

namespace heddle::test {

inline draft::compiled compile_text(const std::string& text,
                                    draft::stage until = draft::stage::check,
                                    draft::compile_options options = {}) {
  options.front.read = [text](const std::string& path) -> std::expected<std::string, std::string> {
    if (path == "t.draft") return text;
    return std::unexpected("there is no " + path);
  };
  return draft::compile("t.draft", until, options);
}

/// The codes of all errors, in order: "D0101 D0401".
inline std::string codes_of(const std::string& text) {
  std::string out;
  // By a name: GCC 12 ends a temporary before the loop that reads a part of it.
  const draft::compiled result = compile_text(text);
  for (const source::diagnostic& d : result.report.all()) out += (out.empty() ? "" : " ") + d.code;
  return out;
}

}  // namespace heddle::test

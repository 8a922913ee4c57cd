// SPDX-License-Identifier: MIT
// The Draft compiler on any text: lexer, parser and checker never crash; what the checker accepts
// becomes C, with and without passes; and the formatter keeps the tokens and is stable.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "draft/format.hh"
#include "draft/lexer.hh"
#include "draft/tool.hh"

using namespace heddle;

namespace {

std::string words_of(const source::source_file& f) {
  source::diagnostics report;
  std::string out;
  for (const draft::token& t : draft::lex(f, report).tokens) {
    out += t.kind == draft::token_kind::newline
               ? std::string("\n")
               : std::string(f.text().substr(t.begin, t.end - t.begin));
    out += ' ';
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 20000) return 0;
  const std::string text(reinterpret_cast<const char*>(data), size);
  draft::compile_options options;
  options.front.read = [&](const std::string& path) -> std::expected<std::string, std::string> {
    if (path == "t.draft") return text;
    return std::unexpected("no such file");
  };
  const draft::compiled made = draft::compile("t.draft", draft::stage::c, options);
  static_cast<void>(source::print(made.report));
  static_cast<void>(source::print(made.report, {.json = true}));
  static_cast<void>(draft::compile("t.draft", draft::stage::ast, options));
  if (made.good()) {
    options.passes = {false, false, false, false, false};
    if (!draft::compile("t.draft", draft::stage::c, options).good()) std::abort();
    static_cast<void>(draft::compile("t.draft", draft::stage::dot, options));
  }
  source::diagnostics report;
  const source::source_file file("t.draft", text);
  static_cast<void>(draft::lex(file, report));
  if (report.has_errors()) return 0;
  const source::source_file once("t.draft", draft::format(file));
  if (words_of(once) != words_of(file)) std::abort();
  const source::source_file twice("t.draft", draft::format(once));
  if (twice.text() != once.text()) std::abort();
  return 0;
}

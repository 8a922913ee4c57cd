// SPDX-License-Identifier: MIT
// The Tame translator on any bytes: the tokens are the file, both outputs are made or refused, and
// what has nothing of the dialect comes out as it went in. The first byte chooses the dialect.
#include <algorithm>
#include <cstdint>
#include <string>

#include "fuzz/require.hh"
#include "tame/translate.hh"

namespace {

using heddle::fuzz::require;

void check_tokens(std::string_view text) {
  const heddle::tame::token_list list = heddle::tame::tokenize(text);
  std::uint32_t at = 0;
  for (const heddle::tame::token& t : list.all) {
    require(t.begin == at && t.end > t.begin);
    at = t.end;
    std::uint32_t inside = t.begin;
    for (std::uint32_t i = 0; i < t.count; ++i) {
      const heddle::tame::token& part = list.inside[t.first + i];
      require(part.begin == inside && part.end > part.begin);
      inside = part.end;
    }
    require(t.count == 0 || inside == t.end);
  }
  require(at == text.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  check_tokens(text);
  const heddle::source::source_file file("fuzz.tcc", text);
  heddle::tame::translate_options options;
  options.language =
      (data[0] & 1) != 0 ? heddle::tame::dialect::tame : heddle::tame::dialect::tamer;
  options.line_directives = false;
  {
    heddle::source::diagnostics found;
    const heddle::tame::translation t = heddle::tame::translate(file, options, found);
    require(!found.has_errors() || t.text.empty());
    static_cast<void>(heddle::source::print(found));
    static_cast<void>(heddle::source::print(found, {.json = true}));
    if (!found.has_errors()) {
      check_tokens(t.text);
      if (!t.changed) require(t.text == text);
      const auto lines = [](const std::string& s) { return std::count(s.begin(), s.end(), '\n'); };
      // Only twins of macros add lines.
      if (t.text.find("heddle_tame_") == std::string::npos) require(lines(t.text) == lines(text));
    }
  }
  options.rename_api = (data[0] & 2) != 0;
  heddle::source::diagnostics found;
  const heddle::tame::translation t = heddle::tame::port(file, options, found);
  require(!found.has_errors() || t.text.empty());
  return 0;
}

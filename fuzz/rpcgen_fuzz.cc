// SPDX-License-Identifier: MIT
// XDR files of any bytes: the compiler ends, each diagnostic has a place in the file, and a file
// without mistakes gives C++ whose braces are balanced.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "rpcgen/syntax.hh"

namespace {

using namespace heddle;

void demand(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const source::source_file file("a.x", std::string(reinterpret_cast<const char*>(data), size));
  source::diagnostics found;
  const rpcgen::specification parsed = rpcgen::parse(file, found);
  for (const source::diagnostic& d : found.all()) {
    demand(d.at.file == &file && d.at.begin <= d.at.end && d.at.end <= size);
    demand(!d.message.empty());
  }
  static_cast<void>(print(found));
  if (found.has_errors()) return 0;
  std::string cpp = rpcgen::to_cpp(parsed, "a.x");
  rpcgen::check_libasync(parsed, found);
  if (!found.has_errors()) cpp += rpcgen::to_libasync(parsed, "a.x");
  const bool copies_lines = std::ranges::any_of(
      parsed.items, [](const auto& i) { return i->kind == rpcgen::item_kind::verbatim; });
  demand(copies_lines || std::ranges::count(cpp, '{') == std::ranges::count(cpp, '}'));
  return 0;
}

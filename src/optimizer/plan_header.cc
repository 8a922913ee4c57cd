// SPDX-License-Identifier: MIT
// Writes a plan as source: constants for the compiler, and definitions for names the linker misses.
#include <algorithm>

#include "heddle/bus/detail/hex.hh"
#include "heddle/optimizer/planner.hh"

namespace heddle {

namespace {

/// A program's name as a comment: escapes it so that it cannot end or continue the line.
std::string comment_of(const std::string& name) {
  std::string out;
  for (const char c : name.substr(0, 200)) out += c == '\\' ? '/' : c;
  return out;
}

const char* word_of(detail::raised_from from) noexcept {
  switch (from) {
    case detail::raised_from::outside:
      return "raised_from::outside";
    case detail::raised_from::chain:
      return "raised_from::chain";
    case detail::raised_from::anywhere:
      return "raised_from::anywhere";
  }
  return "";
}

std::string symbol_of(const plan& p, std::size_t number) {
  return "heddle_hot_" + detail::hex(p.stamp) + '_' + std::to_string(number);
}

}  // namespace

std::string plan_header(const plan& p, const profile_data& profile) {
  std::string out =
      "// Made by `heddle optimize`; made anew when the profile changes.\n"
      "#pragma once\n\n"
      "#define HEDDLE_BUS_PLAN_READ  // the file that HEDDLE_BUS_PLAN names was found\n\n"
      "namespace heddle::detail {\n\n";
  if (p.topics.empty()) return out + "using plan = no_plan;\n\n}  // namespace heddle::detail\n";
  const std::string data = "plan_" + detail::hex(p.stamp);
  std::string topics;
  std::string variants;
  std::string sequence;
  std::size_t variant_count = 0;
  std::size_t position = 0;
  for (const plan_topic& t : p.topics) {
    const profile_topic& about = profile.topics[t.topic];
    topics += "      {0x" + detail::hex(about.hash) + "u, " + std::to_string(variant_count) + ", " +
              std::to_string(t.variants.size()) + ", " + std::to_string(t.chain) + ", " +
              word_of(t.from) + (t.several_raise ? ", true" : ", false") +
              (t.inlined ? ", true" : ", false") + "},  // " + comment_of(about.name) + '\n';
    for (const plan_variant& v : t.variants) {
      variants +=
          "      {" + std::to_string(position) + ", " + std::to_string(v.numbers.size()) + "},\n";
      sequence += "     ";
      for (const std::int32_t n : v.numbers) sequence += ' ' + std::to_string(n) + ',';
      sequence += '\n';
      position += v.numbers.size();
      ++variant_count;
    }
  }
  std::string chains;
  for (std::uint32_t c = 0; c < p.chains.size(); ++c) {
    std::size_t lead = 0;
    for (std::uint32_t t = 0; t < p.chains[c]; ++t) lead += p.topics[t].variants.size();
    chains += "      {" + std::to_string(lead) + ", " +
              std::to_string(std::ranges::count(p.topics, c, &plan_topic::chain)) + "},\n";
  }
  std::string handlers;
  std::string tags;
  for (std::size_t i = 0; i < p.handlers.size(); ++i) {
    const profile_handler& h = profile.handlers[p.handlers[i]];
    handlers += "      {0x" + detail::hex(h.hash) + "u, " + std::to_string(h.occurrence) +
                "},  // " + comment_of(h.name) + '\n';
    tags +=
        "HEDDLE_BUS_HOT(" + data + ", " + detail::hex(p.stamp) + ", " + std::to_string(i) + ")\n";
  }
  if (p.handlers.empty()) handlers = "      {0, 0},\n";
  out += "struct " + data + " {\n" + "  static constexpr const char* compiler = \"" + p.compiler +
         "\";\n" + "  static constexpr int topic_count = " + std::to_string(p.topics.size()) +
         ";\n" + "  static constexpr int handler_count = " + std::to_string(p.handlers.size()) +
         ";\n" + "  static constexpr int variant_count = " + std::to_string(variant_count) + ";\n" +
         "  static constexpr int chain_count = " + std::to_string(p.chains.size()) + ";\n" +
         "  static constexpr planned_topic topics[] = {\n" + topics + "  };\n" +
         "  static constexpr planned_chain chains[] = {\n" + chains + "  };\n" +
         "  static constexpr planned_handler handlers[] = {\n" + handlers + "  };\n" +
         "  static constexpr planned_variant variants[] = {\n" + variants + "  };\n" +
         "  static constexpr std::int32_t sequence[] = {\n" + sequence + "  };\n" + "};\n" +
         "using plan = plan_if_names_agree<" + data + ">;\n\n" + tags +
         "\n}  // namespace heddle::detail\n";
  return out;
}

std::string plan_fallback(const plan& p) {
  std::string out =
      "/* Made by `heddle optimize`: stands in for handlers that the program no longer has. No "
      "raise\n"
      "   calls one. The program's own definitions come first, and win. C and C++. */\n"
      "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
      "typedef int heddle_nothing_to_define;\n";
  for (std::size_t i = 0; i < p.handlers.size(); ++i) {
    const std::string name = symbol_of(p, i);
    out += "void " + name + "(void);\n__attribute__((weak, visibility(\"hidden\"))) void " + name +
           "(void) { __builtin_trap(); }\n";
  }
  out += "#ifdef __cplusplus\n}\n#endif\n";
  return out;
}

std::vector<std::uint32_t> missing_handlers(const plan& p, const profile_data& profile,
                                            std::string_view program) {
  std::vector<std::uint32_t> missing;
  for (std::uint32_t i = 0; i < p.handlers.size(); ++i) {
    const profile_handler& h = profile.handlers[p.handlers[i]];
    const std::string mark =
        "heddle-hot-handler:" + detail::hex(h.hash) + ':' + std::to_string(h.occurrence) + ';';
    if (program.find(mark) == program.npos) missing.push_back(i);
  }
  return missing;
}

}  // namespace heddle

// SPDX-License-Identifier: MIT
// Syntax files: the words come from the lexer, the patterns of numbers and texts are written here.
#include "draft/highlight.hh"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "draft/token.hh"

namespace heddle::draft {
namespace {

constexpr std::string_view constant_words[] = {"true", "false", "none"};
constexpr std::string_view waiting_words[] = {"any",   "wait",   "scope", "within", "shield",
                                              "spawn", "nowait", "defer", "try",    "or"};

bool contains(std::span<const std::string_view> list, std::string_view w) {
  return std::find(list.begin(), list.end(), w) != list.end();
}

/// The keywords that are in no other group.
std::vector<std::string_view> plain_words() {
  std::vector<std::string_view> list;
  for (const std::string_view w : keywords())
    if (!contains(constant_words, w) && !contains(waiting_words, w)) list.push_back(w);
  return list;
}

std::string joined(std::span<const std::string_view> list, std::string_view between) {
  std::string out;
  for (const std::string_view w : list) {
    if (!out.empty()) out += between;
    out += w;
  }
  return out;
}

std::string pattern(const char* scope, std::string_view match) {
  return std::string("    { \"name\": \"") + scope + "\", \"match\": \"" + std::string(match) +
         "\" }";
}

std::string words_pattern(const char* scope, std::span<const std::string_view> list) {
  return pattern(scope, "\\\\b(" + joined(list, "|") + ")\\\\b");
}

}  // namespace

std::string vim_syntax() {
  return "\" Draft, the language of `heddle draft`. Made by `heddle draft syntax vim`.\n"
         "if exists(\"b:current_syntax\")\n  finish\nendif\n"
         "syn keyword draftKeyword " +
         joined(plain_words(), " ") + "\nsyn keyword draftWaiting " + joined(waiting_words, " ") +
         "\nsyn keyword draftConstant " + joined(constant_words, " ") + "\nsyn keyword draftType " +
         joined(type_words(), " ") +
         "\nsyn match draftNumber \"\\<\\d[0-9A-Za-z_]*\\>\"\n"
         "syn region draftText start=+\"+ skip=+\\\\.+ end=+\"+ oneline\n"
         "syn match draftText \"'\\(\\\\.[0-9a-f]*\\|[^'\\\\]\\)'\"\n"
         "syn match draftComment \"//.*$\"\n"
         "syn match draftCall \"\\<\\h\\w*\\ze(\"\n"
         "hi def link draftKeyword Keyword\nhi def link draftWaiting Statement\n"
         "hi def link draftConstant Constant\nhi def link draftType Type\n"
         "hi def link draftNumber Number\nhi def link draftText String\n"
         "hi def link draftComment Comment\nhi def link draftCall Function\n"
         "setlocal commentstring=//\\ %s\n"
         "let b:current_syntax = \"draft\"\n";
}

std::string textmate_grammar() {
  return "{\n  \"name\": \"Draft\",\n  \"scopeName\": \"source.draft\",\n"
         "  \"fileTypes\": [\"draft\"],\n  \"patterns\": [\n" +
         pattern("comment.line.double-slash.draft", "//.*$") + ",\n" +
         "    { \"name\": \"string.quoted.double.draft\", \"begin\": \"\\\"\", \"end\": "
         "\"\\\"|$\",\n"
         "      \"patterns\": [{ \"name\": \"constant.character.escape.draft\", \"match\": "
         "\"\\\\\\\\(x[0-9a-fA-F]{2}|.)\" }] },\n" +
         pattern("string.quoted.single.draft", "'(\\\\\\\\(x[0-9a-fA-F]{2}|.)|[^'\\\\\\\\])'") +
         ",\n" + words_pattern("keyword.control.draft", plain_words()) + ",\n" +
         words_pattern("keyword.control.wait.draft", waiting_words) + ",\n" +
         words_pattern("constant.language.draft", constant_words) + ",\n" +
         words_pattern("storage.type.draft", type_words()) + ",\n" +
         pattern("constant.numeric.draft", "\\\\b[0-9][0-9A-Za-z_]*\\\\b") + ",\n" +
         pattern("entity.name.function.draft", "\\\\b[A-Za-z_][A-Za-z0-9_]*(?=\\\\()") +
         "\n  ]\n}\n";
}

}  // namespace heddle::draft

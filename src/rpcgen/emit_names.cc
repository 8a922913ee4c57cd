// SPDX-License-Identifier: MIT
// Names and values as C++ that both forms of the output use.
#include "rpcgen/emit_names.hh"

#include <algorithm>
#include <set>

namespace heddle::rpcgen {

std::string safe(const std::string& name) {
  static const std::set<std::string> words = {
      "alignas",  "alignof",   "and",      "asm",       "auto",      "break",     "catch",
      "char",     "class",     "concept",  "consteval", "constexpr", "constinit", "continue",
      "co_await", "co_return", "co_yield", "decltype",  "delete",    "do",        "else",
      "explicit", "export",    "extern",   "false",     "for",       "friend",    "goto",
      "if",       "inline",    "long",     "mutable",   "new",       "noexcept",  "not",
      "nullptr",  "operator",  "or",       "private",   "protected", "public",    "register",
      "requires", "return",    "short",    "signed",    "sizeof",    "static",    "template",
      "this",     "throw",     "true",     "try",       "typeid",    "typename",  "using",
      "virtual",  "volatile",  "wchar_t",  "while",     "xor",       "body",      "set",
      "arm_of",   "NULL",      "heddle",   "std",       "describe",  "tail_of"};
  return words.contains(name) || is_c_macro(name) ? name + "_" : name;
}

std::string full_name(const item& i) {
  return "::" + (i.scope.empty() ? "" : i.scope + "::") + safe(i.name);
}

std::string field_name(const item& in, const std::string& name) {
  return name == in.name ? name + "_" : safe(name);
}

bool is_link(const declaration& d, const item& in) {
  if (d.form != shape::optional || d.type == nullptr) return false;
  const item& to = *d.type;
  if (to.order >= in.order) return true;
  return specification::contains(to, to);
}

bool is_list_node(const item& i) {
  if (i.kind != item_kind::structure) return false;
  const declaration& last = unaliased(i.fields.back());
  return last.form == shape::optional && last.type == &i;
}

std::string case_text(const item& i, std::int64_t v) {
  const declaration& d = unaliased(i.discriminant);
  if (d.base == base_type::boolean) return v == 1 ? "true" : "false";
  if (d.base != base_type::named)
    return std::to_string(v) + (d.base == base_type::uint32 ? "u" : "");
  const auto same = [v](const enumerator& e) { return e.number == v; };
  return full_name(*d.type) + "::" + safe(std::ranges::find_if(d.type->enumerators, same)->name);
}

}  // namespace heddle::rpcgen

// SPDX-License-Identifier: MIT
// The names of generated C++, for both forms of the output: Heddle's own types (emit.cc), and
// libasync's (emit_libasync.cc).
#pragma once

#include <string>
#include <string_view>

#include "rpcgen/syntax.hh"

namespace heddle::rpcgen {

/// Whether a name is a macro of the C library, such as NAME_MAX or EOF.
[[nodiscard]] bool is_c_macro(std::string_view name);
/// A name that C++, the C library or a generated struct uses gets an underscore.
[[nodiscard]] std::string safe(const std::string& name);
[[nodiscard]] std::string full_name(const item& i);
/// The name of a field of a generated struct; one that has the struct's own name gets an
/// underscore.
[[nodiscard]] std::string field_name(const item& in, const std::string& name);
/// Whether `d` is a pointer to a type that leads back to it, or is not complete yet.
[[nodiscard]] bool is_link(const declaration& d, const item& in);
/// Whether the last field of a struct is a pointer to the next one, as in a list.
[[nodiscard]] bool is_list_node(const item& i);
/// A value of a union's discriminant, as C++.
[[nodiscard]] std::string case_text(const item& i, std::int64_t v);

/// Calls f with each field of a struct or typedef, and with the field of each arm of a union.
void for_each_field(const item& i, const auto& f) {
  for (const declaration& d : i.fields) f(d);
  for (const arm& a : i.arms) f(a.field);
}

}  // namespace heddle::rpcgen

// SPDX-License-Identifier: MIT
// A .x file as a list of items in the order of the file: constants, types, programs, and lines for
// the output. Names of types and constants are resolved.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "source/diagnostic.hh"

namespace heddle::rpcgen {

struct item;

enum class base_type : std::uint8_t {
  nothing,  ///< void
  int32,
  uint32,
  int64,
  uint64,
  real32,
  real64,
  quadruple,
  boolean,
  text,
  opaque,
  named,
};

enum class shape : std::uint8_t { one, fixed, variable, optional };

/// A field, an arm, a type of a typedef, an argument or a result.
struct declaration {
  base_type base = base_type::nothing;
  const item* type = nullptr;  ///< for base_type::named, after resolving
  std::string type_name;
  source::span type_at;
  shape form = shape::one;
  std::optional<std::uint32_t> size;  ///< the length of a fixed, the bound of a variable one
  std::string name;
  source::span at;
};

struct enumerator {
  std::string name;
  std::int64_t number = 0;
};

/// An arm of a union. The default arm has no values.
struct arm {
  std::vector<std::int64_t> values;
  declaration field;
};

struct procedure {
  std::string name;
  source::span at;
  std::uint32_t number = 0;
  declaration result;
  std::vector<declaration> arguments;  ///< arguments in order; empty for void
};

struct version {
  std::string name;
  std::uint32_t number = 0;
  std::vector<procedure> procedures;
};

enum class item_kind : std::uint8_t {
  constant,
  enumeration,
  structure,
  choice,  ///< a union
  alias,   ///< a typedef
  program,
  verbatim,
};

struct item {
  item_kind kind = item_kind::verbatim;
  std::string scope;  ///< the namespaces around it: "a::b"
  std::string name;
  source::span at;
  std::size_t order = 0;  ///< place among the items

  std::string text;                     ///< line of a verbatim line
  std::int64_t number = 0;              ///< value of a constant, or of a program
  std::vector<enumerator> enumerators;  ///< values of an enumeration
  std::vector<declaration> fields;      ///< fields of a structure; the only one of an alias
  declaration discriminant;             ///< discriminant of a union
  std::vector<arm> arms;
  std::vector<version> versions;
};

/// Thread: one. Owns: the items, which refer to each other.
struct specification {
  std::vector<std::unique_ptr<item>> items;
  /// Whether a value of the type contains a pointer or list that leads to `target`, or is one.
  [[nodiscard]] static bool contains(const item& from, const item& target);
};

/// The declaration with aliases replaced, as far as they add no form of their own.
[[nodiscard]] const declaration& unaliased(const declaration& d);

/// Parses and checks a file. The diagnostics say what is wrong; the result is complete if there are
/// no errors.
[[nodiscard]] specification parse(const source::source_file& file, source::diagnostics& found);

/// The C++ header of a specification without errors. `made_from` is named in its first lines.
[[nodiscard]] std::string to_cpp(const specification& s, const std::string& made_from);
/// The same in the style of libasync, for a specification that check_libasync() took.
[[nodiscard]] std::string to_libasync(const specification& s, const std::string& made_from);
/// Refuses what libasync's style cannot say.
void check_libasync(const specification& s, source::diagnostics& found);

}  // namespace heddle::rpcgen

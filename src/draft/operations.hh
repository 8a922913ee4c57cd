// SPDX-License-Identifier: MIT
// The built-in operations: those of connections, buffers and channels, and the
// functions of net, fs, time, log and rand. One table for the checker, the interpreter, the back
// end and the reference page.
#pragma once

#include <span>
#include <string_view>

#include "draft/types.hh"

namespace heddle::draft {

/// How a parameter or the receiver is passed, and the result is given.
struct operation {
  std::string_view on;  ///< "conn", "net", "channel"; "" of a constructor like buffer(4K)
  std::string_view name;
  std::string_view params;  ///< "cap: int, to: view"; "..." takes any printable values
  std::string_view result;  ///< "", "int", "view", "T"
  bool fallible = false;
  bool waits = false;
  bool changes = false;             ///< the receiver has to be a `var`
  bool consumes = false;            ///< the receiver is gone afterwards
  bool looks_into = false;          ///< the result is a view into the receiver
  std::int8_t looks_into_arg = -1;  ///< or into this argument
  bool property = false;            ///< without parentheses: v.len
  std::string_view c_name;
  std::string_view help;
  std::uint8_t end =
      0;  ///< arms of `any` on one object with equal non-zero ends exclude each other
};

[[nodiscard]] std::span<const operation> operations() noexcept;
/// The two halves of it: connections and files; everything in memory.
[[nodiscard]] std::span<const operation> io_operations() noexcept;
[[nodiscard]] std::span<const operation> value_operations() noexcept;
/// The operation `on.name`, or null.
[[nodiscard]] const operation* find_operation(std::string_view on, std::string_view name) noexcept;
/// The word that `operation::on` has for a type: "conn", "text", "array", ...
[[nodiscard]] std::string_view word_of(kind k) noexcept;

/// One parameter of an operation.
struct operation_param {
  std::string_view name;
  std::string_view type;
  passing how = passing::borrow;
  std::string_view fallback;  ///< as written; "" when there is none
};
[[nodiscard]] std::vector<operation_param> params_of(const operation& op);

}  // namespace heddle::draft

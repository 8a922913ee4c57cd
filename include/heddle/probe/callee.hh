// SPDX-License-Identifier: MIT
// A function that a program gave to the library: which one it is, and the line that gave it. For
// reports that name it.
#pragma once

#include <string>
#include <typeinfo>

#include "heddle/probe/site.hh"

namespace heddle {

struct callee {
  site given = 0;                        ///< the line that gave it to the library
  const std::type_info* type = nullptr;  ///< the function object's
  const void* code = nullptr;            ///< a plain function's

  /// "hello(http::request&)", or the type of the function object, which for a lambda has the
  /// function around it; "" if nothing is known. It may read the program's symbols from its file.
  [[nodiscard]] std::string name() const;
};

/// The name of the function that begins at this address, from the symbols of the program or of the
/// shared library; "" if they were stripped. It reads a file. Thread: any.
[[nodiscard]] std::string function_at(const void* code);

}  // namespace heddle

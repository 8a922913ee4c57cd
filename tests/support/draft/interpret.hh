// SPDX-License-Identifier: MIT
// The meaning of the language: runs the typed tree, in virtual time, with threads that take turns
// in one queue. Slow and simple on purpose; compiled programs are held against it. It has no
// network, no files and no C.
#pragma once

#include <cstdint>
#include <string>

#include "draft/types.hh"

namespace heddle::draft {

struct interpreted {
  std::string out;        ///< the output of the program
  int code = 0;           ///< 0, or 1 when main ended with an error
  std::string complaint;  ///< a fault, or why it could not go on
  bool supported = true;  ///< false: the program uses what is not interpreted
};

/// Runs main with its default arguments. The program was checked and has no errors. It is ended
/// after so many steps.
[[nodiscard]] interpreted interpret(const program& p, std::uint64_t steps_max = 1'000'000);

}  // namespace heddle::draft

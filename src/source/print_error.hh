// SPDX-License-Identifier: MIT
// The format in which every verb of the heddle program reports an error, on stderr:
//
//   error: WHAT
//     help: THE REMEDY
#pragma once

#include <string>

namespace heddle::source {

/// Prints the error; the second line is left out if `help` is empty.
void print_error(const std::string& what, const std::string& help);

}  // namespace heddle::source

// SPDX-License-Identifier: MIT
// The format in which every verb of the heddle program reports an error, on stderr:
//
//   error: WHAT
//     help: THE REMEDY
#pragma once

#include <string>
#include <string_view>

namespace heddle::source {

/// The lines; the second line is left out if `help` is empty.
[[nodiscard]] std::string error_text(std::string_view what, std::string_view help);
/// Prints these lines.
void print_error(const std::string& what, const std::string& help);

}  // namespace heddle::source

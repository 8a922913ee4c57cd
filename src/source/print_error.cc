// SPDX-License-Identifier: MIT
// The format in which all verbs report errors.
#include "source/print_error.hh"

#include <cstdio>

namespace heddle::source {

std::string error_text(std::string_view what, std::string_view help) {
  std::string text = "error: ";
  (text += what) += '\n';
  if (!help.empty()) ((text += "  help: ") += help) += '\n';
  return text;
}

void print_error(const std::string& what, const std::string& help) {
  std::fputs(error_text(what, help).c_str(), stderr);
}

}  // namespace heddle::source

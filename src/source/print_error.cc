// SPDX-License-Identifier: MIT
// The format in which all verbs report errors.
#include "source/print_error.hh"

#include <cstdio>

namespace heddle::source {

void print_error(const std::string& what, const std::string& help) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  if (!help.empty()) std::fprintf(stderr, "  help: %s\n", help.c_str());
}

}  // namespace heddle::source

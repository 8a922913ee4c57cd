// SPDX-License-Identifier: MIT
// How every verb says what went wrong.
#include <cstdio>

#include "cli/verbs.hh"

namespace heddle::cli {

void print_error(const std::string& what, const std::string& help) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  if (!help.empty()) std::fprintf(stderr, "  help: %s\n", help.c_str());
}

}  // namespace heddle::cli

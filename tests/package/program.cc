// SPDX-License-Identifier: MIT
// A user's program outside the tree, built against an installed Heddle by tests/package/run.
#include <cstdio>
#include <heddle/base/error.hh>

int main(int argc, char**) {
  HEDDLE_ASSERT(argc == 1, "the installed headers and library belong together");
  std::puts("package: a program outside the tree runs");
  return 0;
}

// SPDX-License-Identifier: MIT
// `heddle rpcgen` as a program of its own, so that tests and examples of this tree can be built
// without the whole heddle program. It is not installed.
#include "heddle/base/detail/standard_streams.hh"
#include "rpcgen/command.hh"

int main(int argc, char** argv) {
  heddle::hold_standard_streams();
  return heddle::rpcgen::run_command({argv + (argc > 0 ? 1 : 0), argv + argc});
}

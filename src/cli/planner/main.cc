// SPDX-License-Identifier: MIT
// The verb optimize alone, for the build of the heddle program itself: it makes the plan before
// there is a heddle. Not installed.
#include <exception>
#include <optional>

#include "cli/verbs.hh"
#include "heddle/base/detail/standard_streams.hh"

int main(int argc, char** argv) {
  using namespace heddle::cli;
  heddle::hold_standard_streams();
  command program("heddle_planner", "Merge the busy handlers of a profile");
  const verb_function optimize = add_optimize(program.add_command("optimize", ""));
  program.require_command();
  try {
    const std::optional<int> code = program.parse(argc, argv);
    return code ? *code : optimize();
  } catch (const std::exception& e) {
    print_error(e.what(), "this is a step of the build; heddle_optimize() in CMake makes it");
    return 70;
  }
}

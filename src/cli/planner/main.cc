// SPDX-License-Identifier: MIT
// The verb optimize alone, for the build of the heddle program itself: it makes the plan before
// there is a heddle. Not installed.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/verbs.hh"

int main(int argc, char** argv) {
  using namespace heddle::cli;
  CLI::App app("Merge the busy handlers of a profile", "heddle_planner");
  const verb_function optimize = add_optimize(*app.add_subcommand("optimize")->required());
  try {
    app.parse(argc, argv);
    return optimize();
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const std::exception& e) {
    print_error(e.what(), "this is a step of the build; heddle_optimize() in CMake makes it");
    return 70;
  }
}

// SPDX-License-Identifier: MIT
// `heddle tame`, and the program that takes the flags of the tool that Tame programs were built
// with.
#pragma once

#include <string>
#include <vector>

namespace heddle::tame {

/// heddle tame FILE...; gives the exit code: 0, 1 for errors in a source or a --check that finds
/// something to do, 2 for mistakes in the command.
[[nodiscard]] int run_command(const std::vector<std::string>& arguments);

/// The translator of run_command(), with the flags -o -c -n -L -g -b -D -F -l of that older tool.
[[nodiscard]] int run_known_tool(const std::vector<std::string>& arguments);

/// The text of `heddle tame --help`.
[[nodiscard]] const char* command_help() noexcept;

}  // namespace heddle::tame

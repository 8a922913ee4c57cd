// SPDX-License-Identifier: MIT
// The command line of `heddle rpcgen`.
#pragma once

#include <string>
#include <vector>

namespace heddle::rpcgen {

/// heddle rpcgen FILE.x [-o FILE]; gives the exit code: 0, 1 for errors in the file, 2 for mistakes
/// in the command.
[[nodiscard]] int run_command(const std::vector<std::string>& arguments);

/// The text of `heddle rpcgen --help`.
[[nodiscard]] const char* command_help() noexcept;

}  // namespace heddle::rpcgen

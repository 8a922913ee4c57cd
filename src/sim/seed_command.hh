// SPDX-License-Identifier: MIT
// The environment of a test over seeds, and the command that runs it again.
#pragma once

#include <string>

#include "heddle/sim/seeds.hh"

namespace heddle::sim {

/// The value of a variable of the environment; null if it is unset or empty.
[[nodiscard]] const char* setting(const char* name);
/// The given command, or that of this process, as the shell takes it.
[[nodiscard]] std::string command_of(const seeds_options& options);

/// A word as the shell takes it, in quotes where it needs them.
[[nodiscard]] std::string shell_word(const std::string& word);

}  // namespace heddle::sim

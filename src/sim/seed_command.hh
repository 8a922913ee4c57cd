// SPDX-License-Identifier: MIT
// How a test over seeds is run again.
#pragma once

#include <string>

#include "heddle/sim/seeds.hh"

namespace heddle::sim {

/// The given command, or that of this process, as the shell takes it.
[[nodiscard]] std::string command_of(const seeds_options& options);

/// A word as the shell takes it, in quotes where it needs them.
[[nodiscard]] std::string shell_word(const std::string& word);

}  // namespace heddle::sim

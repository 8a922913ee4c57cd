// SPDX-License-Identifier: MIT
// heddle_main() for C++: a program of one thread, which a closure makes of the arguments.
#pragma once

#include <functional>
#include <span>

#include "heddle/abi.h"
#include "heddle/base/language.hh"

namespace heddle::abi {

/// Makes the program's thread; null if there is no memory.
using start_function =
    std::move_only_function<heddle_frame*(heddle_worker*, const heddle_argument*)>;

/// Reads the arguments, makes a runtime, runs the thread until it ends, then ends the others. Gives
/// the exit code: 0, 1 for an error, 2 for wrong arguments.
int run_program(int argc, char** argv, start_function start,
                std::span<const heddle_parameter> parameters);

}  // namespace heddle::abi

// SPDX-License-Identifier: MIT
// Stops the compiler with one error if the program is compiled as an older C++ than C++23. Headers
// include it before they use what C++20 lacks.
#pragma once

#if __cplusplus < 202100L
// A missing file is the only error after which no compiler reads on.
#include "Heddle needs C++23: compile with -std=c++23"
#endif

// SPDX-License-Identifier: MIT
// The check of a fuzzer: if something does not hold, the program ends with the line of the check,
// and libFuzzer keeps the input that led there.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace heddle::fuzz {

inline void require(bool holds, const char* what = "a check does not hold",
                    std::source_location at = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "%s:%u: %s\n", at.file_name(), static_cast<unsigned>(at.line()), what);
  std::abort();
}

}  // namespace heddle::fuzz

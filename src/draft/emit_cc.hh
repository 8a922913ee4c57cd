// SPDX-License-Identifier: MIT
// `--emit cc`, the way out of Draft: the program as C++23 on Heddle's task<> and heddle/draft.hh,
// to go on with by hand. Parts that C++ cannot have are reported as D0009 at its line.
#pragma once

#include <string>

#include "draft/types.hh"

namespace heddle::draft {

[[nodiscard]] std::string emit_cc(const program& p, source::diagnostics& report);

}  // namespace heddle::draft

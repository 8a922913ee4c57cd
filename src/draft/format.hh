// SPDX-License-Identifier: MIT
// One style for Draft: indentation, spaces, blank lines. Lines stay where the author broke them.
#pragma once

#include <string>

#include "source/source_file.hh"

namespace heddle::draft {

/// The text in the one style. A text with errors of the lexer comes back as it was. Formatting
/// twice gives what formatting once gives.
[[nodiscard]] std::string format(const source::source_file& file);

}  // namespace heddle::draft

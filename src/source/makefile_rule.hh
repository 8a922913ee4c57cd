// SPDX-License-Identifier: MIT
// A makefile rule that names the files from which an output was made. Compilers write it, and the
// build reads it to know when to make the output again.
#pragma once

#include <string>
#include <vector>

namespace heddle::source {

[[nodiscard]] std::string makefile_rule(const std::string& output,
                                        const std::vector<std::string>& inputs);

}  // namespace heddle::source

// SPDX-License-Identifier: MIT
// The flags of a verb, one for each setting of its table.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "serve/options.hh"

namespace CLI {
class App;
}

namespace heddle::serve {

using setting_requests = std::vector<setting_request>;

/// Adds a flag for each setting; "directory" may also be given without one. The requests are there
/// once the command line has been parsed.
[[nodiscard]] std::shared_ptr<setting_requests> add_setting_flags(CLI::App& command,
                                                                  std::span<const setting> all);

}  // namespace heddle::serve

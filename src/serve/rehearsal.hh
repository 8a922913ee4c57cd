// SPDX-License-Identifier: MIT
// --check tells the mistakes of a start with these settings, without a start.
#pragma once

#include "heddle/core/task.hh"
#include "serve/options.hh"

namespace heddle::serve {

/// Goes through the steps of a start: it reads the certificates, opens the folders, makes a shard,
/// asks the server of --handover for its sockets, and binds to each address for a moment. It leaves
/// nothing behind. It also reads all pages, and gives 1 for a wrong one, which a start would only
/// report when a visitor asks for it. Prints a line and returns 0 if a start would succeed; a port
/// in use is no mistake of the settings. Fails: as the start.
[[nodiscard]] task<int> rehearse(serve_options o);

}  // namespace heddle::serve

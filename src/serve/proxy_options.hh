// SPDX-License-Identifier: MIT
// The settings of `heddle proxy`: those of its own, and those of `heddle serve` that make sense for
// it. options.hh describes how settings work.
#pragma once

#include <span>
#include <string>

#include "serve/options.hh"

namespace heddle::serve {

[[nodiscard]] std::span<const setting> upstream_settings();
[[nodiscard]] serve_options proxy_defaults();
[[nodiscard]] std::string proxy_help(help_page page);

}  // namespace heddle::serve

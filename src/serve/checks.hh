// SPDX-License-Identifier: MIT
// The checks of settings that belong together.
#pragma once

#include "serve/options.hh"

namespace heddle::serve {

/// Throws bad_setting if two settings contradict each other, or if one has no effect.
void check_serve(const serve_options& o);
/// As check_serve(), for `heddle proxy`, which also needs an upstream.
void check_proxy(const serve_options& o);

}  // namespace heddle::serve

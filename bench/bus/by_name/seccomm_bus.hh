// SPDX-License-Identifier: MIT
// seccomm dispatched by name, with marshalled arguments; in place of apps/seccomm/dispatch.
#pragma once

#include "by_name.hh"

namespace seccomm {

using event_bus = by_name::event_bus;

}  // namespace seccomm

// SPDX-License-Identifier: MIT
// player dispatched by name, with marshalled arguments; in place of apps/player/dispatch.
#pragma once

#include "by_name.hh"

namespace player {

using event_bus = by_name::event_bus;

}  // namespace player

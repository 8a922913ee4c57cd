// SPDX-License-Identifier: MIT
// xclient dispatched by name, with marshalled arguments; in place of apps/xclient/dispatch.
#pragma once

#include "by_name.hh"

namespace xclient {

using event_bus = by_name::event_bus;

}  // namespace xclient

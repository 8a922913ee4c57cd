// SPDX-License-Identifier: MIT
// The bus of the parts of seccomm: Heddle's. It is in a folder of its own, so that a build can put
// another class with the same calls in its place: bench/bus/by_name/ has one that finds topics by
// name and marshals arguments.
#pragma once

#include "heddle/bus/bus.hh"

namespace seccomm {

using event_bus = heddle::bus;

}  // namespace seccomm

// SPDX-License-Identifier: MIT
// What the player's micro-protocols bind to and raise through: Heddle's bus. It stands in a folder
// of its own so that a build can put another class of the same calls in its place:
// bench/bus/by_name/ has one that dispatches by name with marshalled arguments.
#pragma once

#include "heddle/bus/bus.hh"

namespace player {

using event_bus = heddle::bus;

}  // namespace player

// SPDX-License-Identifier: MIT
// For programs that include tamer's rendezvous.hh. Rendezvous are in event.hh, with the events.
#pragma once

#include "tamer/event.hh"

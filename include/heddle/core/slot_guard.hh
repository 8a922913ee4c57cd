// SPDX-License-Identifier: MIT
// Events whose slot lies in one frame and whose rendezvous lies elsewhere ("foreign slots"). When
// that frame ends first, the slot is cut off, so a later trigger writes nowhere (rule K7). The
// table is looked at only while it has entries: worker::foreign_slots counts them.
#pragma once

#include <cstddef>

#include "heddle/base/compiler.hh"

namespace heddle {

class worker;
struct event_record;

namespace detail {

/// Remembers that `record` writes into the cell that starts at `frame`.
void guard_slot(worker& w, void* frame, event_record& record);
/// The event has ended.
HEDDLE_RARE void forget_slots(worker& w, event_record& record) noexcept;
/// The frame has ended: its slots are cut off from the events that would write there.
HEDDLE_RARE void detach_slots_of(worker& w, void* frame) noexcept;
/// Frees the table; the worker is going away.
void free_guards(worker& w) noexcept;

}  // namespace detail
}  // namespace heddle

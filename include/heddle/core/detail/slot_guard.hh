// SPDX-License-Identifier: MIT
// Events whose slot lies in one frame and whose rendezvous lies elsewhere ("foreign slots"). When
// that frame ends first, the slot is cut off, so a later trigger writes nowhere (rule K7). The
// table is looked at only while it has entries: worker::foreign_slots counts them. The functions
// are in src/core/foreign_slots.cc.
//
// A compiler may leave a variable of a coroutine on the thread's stack when the variable does not
// live across a wait. Such a slot is found by its address and cut off when its function ends, or
// when the worker's loop goes on, whichever comes first. A slot of an ordinary function that runs
// inside a frame is cut off by the loop too; one above the loop, or on a fiber's stack, is the
// programmer's own.
#pragma once

#include <coroutine>
#include <cstddef>

#include "heddle/base/compiler.hh"

namespace heddle {

class worker;
struct event_record;

namespace detail {

/// Forgets the slots of an event that has ended.
HEDDLE_RARE void forget_slots(worker& w, event_record& record) noexcept;
/// Cuts off the slots in a frame that has ended from the events that would write there.
HEDDLE_RARE void detach_slots_of(worker& w, void* frame) noexcept;
/// Cuts off the slots of a function that has ended and is still running: those in its frame and
/// those on the stack. The caller is the function itself, or a function that it calls: `between` is
/// the number of calls in between.
HEDDLE_RARE void end_slots_of(worker& w, void* frame, unsigned between) noexcept;
/// Cuts off the slots on the part of the stack that frames use; no function may be running there.
/// The loop calls it before it looks at timers and completions, and when it enters a color for one;
/// between two frames of one color a plain frame of ours calls it.
HEDDLE_RARE void cut_loop_slots(worker& w) noexcept;
/// Resumes a coroutine inside a function: never inlined, so that it has a stack frame of its own.
[[gnu::noinline]] void resume_here(std::coroutine_handle<> h);
/// Frees the table of a worker that is going away.
void free_guards(worker& w) noexcept;

}  // namespace detail
}  // namespace heddle

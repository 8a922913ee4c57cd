// SPDX-License-Identifier: MIT
// The twait of Tame (Krohn and others, 2007) for fibers; opt-in like the one for tasks
// (core/twait.hh). `twait` expands to a co_await, which an ordinary function cannot contain, so
// here it is called fiber_twait.
//
//   fiber_twait { resolve(a, mkevent(x)); tfork(mkevent(y), compute, 42); }   // both, in parallel
//
// fiber_twait runs its body and then waits until all events that the body made have happened.
#pragma once

#include "heddle/core/twait.hh"
#include "heddle/fiber/fiber.hh"

#define fiber_twait                                                                   \
  for (::heddle::detail::twait_block heddle_twait_block_; heddle_twait_block_.open(); \
       ::heddle::await(heddle_twait_block_))

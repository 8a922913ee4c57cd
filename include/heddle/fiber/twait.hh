// SPDX-License-Identifier: MIT
// The papers' twait for fibers, opt-in like the one for tasks (core/twait.hh): an ordinary function
// cannot contain the co_await that `twait` stands for, so here it is called fiber_twait.
//
//   fiber_twait { resolve(a, mkevent(x)); tfork(mkevent(y), compute, 42); }   // both, in parallel
//
// It runs its body and then waits until every event that was made in it has happened.
#pragma once

#include "heddle/core/twait.hh"
#include "heddle/fiber/fiber.hh"

#define fiber_twait                                                                   \
  for (::heddle::detail::twait_block heddle_twait_block_; heddle_twait_block_.open(); \
       ::heddle::await(heddle_twait_block_))

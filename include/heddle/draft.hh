// SPDX-License-Identifier: MIT
// For programs that `heddle draft FILE --emit cc` made: the types and operations of Draft in
// C++, on Heddle's tasks. Each header says how its part is used; docs/reference/draft.md has the
// table of operations. A program may mix it with everything else of Heddle.
//
//   namespace draft = heddle::from_draft;
#pragma once

#include "heddle/draft/buffer.hh"
#include "heddle/draft/channel.hh"
#include "heddle/draft/error.hh"
#include "heddle/draft/event.hh"
#include "heddle/draft/file.hh"
#include "heddle/draft/foreign.hh"
#include "heddle/draft/network.hh"
#include "heddle/draft/number.hh"
#include "heddle/draft/operation.hh"
#include "heddle/draft/os.hh"
#include "heddle/draft/program.hh"
#include "heddle/draft/random.hh"
#include "heddle/draft/text.hh"
#include "heddle/draft/thread.hh"

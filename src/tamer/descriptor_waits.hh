// SPDX-License-Identifier: MIT
// The waits for one descriptor that a tamer::fd has. They may be in the drivers of several workers,
// because a color moves. So the end of the descriptor is told to each of them, and its number is
// free for another only when the last one has ended.
#pragma once

#include "heddle/base/list.hh"
#include "heddle/sched/operation.hh"

namespace heddle::tame {

/// The place of a wait among those for its descriptor. Thread: the color of the descriptor's fd.
struct descriptor_wait : list_node {
  explicit descriptor_wait(operation& waits) noexcept : op(waits) {}

  operation& op;
  int closing = -1;  ///< the number that the last wait of a ring closes; -1 while an fd has it open
};

/// The waits of an open descriptor. When it is closed they stay in a ring without this head.
using descriptor_waits = list<descriptor_wait>;

/// Notes the waits of the fd that has a descriptor, or with null that no fd has it. Thread: any.
void note_waits(int fd, descriptor_waits* waits);
/// The waits of the fd that has this descriptor, or null if none has it. Thread: any.
[[nodiscard]] descriptor_waits* waits_of(int fd) noexcept;

/// Ends all waits with -ECANCELED, and closes the number when the last one has ended.
void close_descriptor(int number, descriptor_waits& waits) noexcept;

/// Takes an ended wait out of its list. Gives the number that must be closed now, or -1.
[[nodiscard]] int leave_descriptor(descriptor_wait& w) noexcept;

}  // namespace heddle::tame

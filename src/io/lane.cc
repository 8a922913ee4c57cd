// SPDX-License-Identifier: MIT
// The queue of a lane: a circle of entries, of which the lane names the last.
#include "heddle/io/detail/lane.hh"

namespace heddle::detail {

void lane::push(lane_entry& e) noexcept {
  if (tail == nullptr) {
    e.next = &e;
  } else {
    e.next = tail->next;
    tail->next = &e;
  }
  tail = &e;
}

void lane::remove(lane_entry& e) noexcept {
  lane_entry* before = tail;
  while (before->next != &e) before = before->next;
  if (before == &e) {
    tail = nullptr;
  } else {
    before->next = e.next;
    if (tail == &e) tail = before;
  }
  e.next = nullptr;
}

}  // namespace heddle::detail

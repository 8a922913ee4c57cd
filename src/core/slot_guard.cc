// SPDX-License-Identifier: MIT
// The table of foreign slots: frame -> events that write into it.
#include "heddle/core/slot_guard.hh"

#include <unordered_map>

#include "heddle/core/event.hh"

namespace heddle {

struct slot_guards {
  std::unordered_multimap<void*, event_record*> by_frame;
};

namespace detail {

void guard_slot(worker& w, void* frame, event_record& record) {
  if (w.guards == nullptr) w.guards = new slot_guards;
  w.guards->by_frame.emplace(frame, &record);
  record.flags |= event_record::foreign_slot;
  ++w.foreign_slots;
}

void forget_slots(worker& w, event_record& record) noexcept {
  record.flags &= static_cast<std::uint8_t>(~event_record::foreign_slot);
  for (std::size_t i = 0; i < record.slot_count; ++i) {
    void* slot = record.slots()[i];
    void* frame = slot == nullptr ? nullptr : w.memory.cell_of(slot);
    if (frame == nullptr) continue;
    auto [at, end] = w.guards->by_frame.equal_range(frame);
    while (at != end) {
      if (at->second != &record) {
        ++at;
        continue;
      }
      at = w.guards->by_frame.erase(at);
      --w.foreign_slots;
    }
  }
}

void detach_slots_of(worker& w, void* frame) noexcept {
  auto [at, end] = w.guards->by_frame.equal_range(frame);
  while (at != end) {
    event_record& record = *at->second;
    for (std::size_t i = 0; i < record.slot_count; ++i) {
      void*& slot = record.slots()[i];
      if (slot != nullptr && w.memory.cell_of(slot) == frame) slot = nullptr;
    }
    at = w.guards->by_frame.erase(at);
    --w.foreign_slots;
  }
}

void check_slot_slow(worker& w, event_record& record, void* slot) {
  guard_slot(w, w.memory.cell_of(slot), record);
}

void free_guards(worker& w) noexcept {
  delete w.guards;
  w.guards = nullptr;
}

}  // namespace detail
}  // namespace heddle

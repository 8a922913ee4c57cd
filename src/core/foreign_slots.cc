// SPDX-License-Identifier: MIT
// The tables of foreign slots: frame -> events that write into it, and the same for stacks.
#include "heddle/core/detail/slot_guard.hh"

#include <unwind.h>

#include <map>
#include <set>
#include <utility>

#include "heddle/base/sanitizer.hh"
#include "heddle/core/detail/event_record.hh"
#include "heddle/core/detail/tamed_call.hh"
#include "heddle/core/promise.hh"

#if HEDDLE_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace heddle {

namespace {

/// The frame or address that an event writes to, and the event. One of many is found in logarithmic
/// time.
using slot_key = std::pair<std::uintptr_t, event_record*>;
struct stack_slot {
  std::uint64_t number;  ///< slots are numbered as they are made
  const worker* on;      ///< the worker whose thread's stack it lies on
  const void* slot;      ///< the address itself: see place_of()
};
using stack_slots = std::map<slot_key, stack_slot>;

}  // namespace

struct slot_guards {
  std::set<slot_key> by_frame;
  stack_slots in_loop;    ///< on the thread's stack, below the worker's loop
  stack_slots elsewhere;  ///< on a fiber's stack, or the thread's before the loop began

  /// A frame that runs as soon as the frame that made a slot has returned to the loop.
  struct cutter final : frame {
    cutter() noexcept : frame{&run, [](frame*, heddle_worker*) {}, no_link, 0, 0} {}
    static heddle_link run(frame*, heddle_worker* at) {
      detail::cut_loop_slots(*reinterpret_cast<worker*>(at));
      return no_link;
    }
  } next_frame;
};

namespace detail {
namespace {

std::uintptr_t number_of(const void* address) noexcept {
  return reinterpret_cast<std::uintptr_t>(address);
}

slot_guards& guards_of(worker& w) {
  if (w.guards == nullptr) w.guards = new slot_guards;
  return *w.guards;
}

/// The variable's address on the stack. AddressSanitizer keeps variables elsewhere while their
/// functions run; it gives an address just below the function's stack frame instead.
[[nodiscard]] std::uintptr_t place_of(const void* slot) noexcept {
#if HEDDLE_ASAN
  if (const void* const place = __asan_addr_is_in_fake_stack(
          __asan_get_current_fake_stack(), const_cast<void*>(slot), nullptr, nullptr))
    return number_of(place);
#endif
  return number_of(slot);
}
constexpr std::uintptr_t place_slack = HEDDLE_ASAN ? 1024 : 0;

/// The first entry at this address or behind it.
template <class Table>
[[nodiscard]] auto first_from(Table& in, const void* address) noexcept {
  return in.lower_bound(slot_key(number_of(address), nullptr));
}

void cut(worker& w, stack_slots& from, stack_slots::iterator& at) noexcept {
  event_record& record = *at->first.second;
  for (std::size_t i = 0; i < record.slot_count; ++i) {
    void*& slot = record.slots()[i];
    if (slot == at->second.slot) slot = nullptr;
  }
  at = from.erase(at);
  --w.foreign_slots;
}

/// Notes a slot that lies in no frame, if it is a variable on the stack that is used now.
void guard_stack_slot(worker& w, event_record& record, const void* slot) {
  // The variables of a function that runs lie near the stack's end; its heap and statics do not.
  constexpr std::uintptr_t reach = std::uintptr_t{1} << 20;
  const std::uintptr_t at = place_of(slot);
  if (at - (number_of(__builtin_frame_address(0)) - place_slack) >= reach) return;
  const bool in_loop = w.stack_top != nullptr && (w.fibers == nullptr || !w.fibers->on_own_stack());
  if (in_loop && at >= number_of(w.stack_top)) return;  // a variable of the loop's caller
  slot_guards& guards = guards_of(w);
  stack_slots& table = in_loop ? guards.in_loop : guards.elsewhere;
  w.foreign_slots +=
      table.emplace(slot_key(at, &record), stack_slot{w.stack_slots++, &w, slot}).second;
  record.flags |= event_record::foreign_slot;
  if (in_loop && (guards.next_frame.at & HEDDLE_AT_QUEUED) == 0) {
    guards.next_frame.at |= HEDDLE_AT_QUEUED;
    w.ready.push_front(link_of(guards.next_frame));
  }
}

void forget_stack_slot(worker& w, stack_slots& in, event_record& record,
                       const void* slot) noexcept {
  std::size_t found = in.erase({place_of(slot), &record});
  if (HEDDLE_ASAN && found == 0) {  // place_of() is wrong once the function has returned
    found = std::erase_if(
        in, [&](const auto& x) { return x.first.second == &record && x.second.slot == slot; });
  }
  w.foreign_slots -= found;
}

/// The end of the stack frame of the function that called one with this frame address, directly
/// or with so many in between; null when it is not known.
const void* end_of_caller(const void* frame_address, unsigned between) noexcept {
  struct search {
    std::uintptr_t callee;
    unsigned between;
    bool in_caller = false;
    std::uintptr_t end = 0;
  } s{number_of(frame_address), between};
  _Unwind_Backtrace(
      [](_Unwind_Context* context, void* to) {
        auto& found = *static_cast<search*>(to);
        // The lowest address of the stack frame that the search has reached.
        const auto lowest = static_cast<std::uintptr_t>(_Unwind_GetCFA(context));
        if (found.in_caller) {
          found.end = lowest;
          return _URC_END_OF_STACK;
        }
        found.in_caller = lowest > found.callee && found.between-- == 0;
        return _URC_NO_REASON;
      },
      &s);
  return reinterpret_cast<const void*>(s.end);
}

}  // namespace

void forget_slots(worker& w, event_record& record) noexcept {
  record.flags &= static_cast<std::uint8_t>(~event_record::foreign_slot);
  if (w.guards == nullptr) return;  // the runtime has ended
  for (std::size_t i = 0; i < record.slot_count; ++i) {
    void* const slot = record.slots()[i];
    if (slot == nullptr) continue;
    if (void* const frame = w.memory.cell_of(slot)) {
      w.foreign_slots -= w.guards->by_frame.erase({number_of(frame), &record});
    } else {
      forget_stack_slot(w, w.guards->in_loop, record, slot);
      forget_stack_slot(w, w.guards->elsewhere, record, slot);
    }
  }
}

void detach_slots_of(worker& w, void* frame) noexcept {
  auto& by_frame = w.guards->by_frame;
  for (auto at = first_from(by_frame, frame);
       at != by_frame.end() && at->first == number_of(frame);) {
    event_record& record = *at->second;
    for (std::size_t i = 0; i < record.slot_count; ++i) {
      void*& slot = record.slots()[i];
      if (slot != nullptr && w.memory.cell_of(slot) == frame) slot = nullptr;
    }
    at = by_frame.erase(at);
    --w.foreign_slots;
  }
}

void end_slots_of(worker& w, void* frame, unsigned between) noexcept {
  detach_slots_of(w, frame);
  // A tamed function in its first run may be inlined, and then shares a stack frame with its
  // caller, whose slots are older.
  const std::uint64_t oldest =
      stack_slots_before(*promise_of(reinterpret_cast<link>(frame)).parent());
  const void* const here = __builtin_frame_address(0);
  const void* end = nullptr;
  for (stack_slots* const slots : {&w.guards->in_loop, &w.guards->elsewhere}) {
    auto at = first_from(*slots, static_cast<const char*>(here) - place_slack);
    if (at == slots->end()) continue;
    if (end == nullptr) end = end_of_caller(here, between);
    while (at != slots->end() && at->first.first < number_of(end)) {
      if (at->second.number >= oldest) {
        cut(w, *slots, at);
      } else {
        ++at;
      }
    }
  }
}

void cut_loop_slots(worker& w) noexcept {
  if (w.guards == nullptr) return;
  stack_slots& slots = w.guards->in_loop;
  for (auto at = slots.begin(); at != slots.end();) {
    // Slots above stack_top belong to an outer loop, inside which this one was called. Slots on
    // another thread's stack were left there when the color moved.
    if (at->second.on != &w || at->first.first < number_of(w.stack_top)) {
      cut(w, slots, at);
    } else {
      ++at;
    }
  }
}

void check_slot_slow(worker& w, event_record& record, void* slot) noexcept {
  void* const frame = w.memory.cell_of(slot);
  if (frame == nullptr) return guard_stack_slot(w, record, slot);
  w.foreign_slots += guards_of(w).by_frame.emplace(number_of(frame), &record).second;
  record.flags |= event_record::foreign_slot;
}

void resume_here(std::coroutine_handle<> h) { h.resume(); }

void free_guards(worker& w) noexcept {
  delete w.guards;
  w.guards = nullptr;
}

}  // namespace detail
}  // namespace heddle

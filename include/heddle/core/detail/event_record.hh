// SPDX-License-Identifier: MIT
// The target of an event's handle: a record of 48 bytes with its slots behind it, the home that it
// reports to, and the handle's count. Users name core/event.hh; homes (rendezvous, twait,
// combinations, callbacks) make records with make_event_record().
//
// States of a record: expected (home set) -> ended (home null; fired, cancelled or dropped). It is
// freed when no handle is left and its home has let go of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "heddle/base/list.hh"
#include "heddle/core/detail/slot_guard.hh"
#include "heddle/core/worker.hh"

namespace heddle {

struct event_record;

/// A function that runs when an event ends, however it ends. It is a member of the object that
/// watches the event. See event::at_trigger.
struct event_notifier {
  using function = void (*)(event_notifier&, worker&) noexcept;
  explicit event_notifier(function f) noexcept : ended(f) {}

  function ended;
  event_notifier* next = nullptr;
  event_notifier* prev = nullptr;  ///< in the first notifier: the last one; null if not registered
};

/// The object that an event reports to. Thread: the color of the event.
class event_home {
 public:
  /// Called when the event has happened; its values are in the slots. The record has left no list
  /// yet.
  virtual void fired(event_record& record, worker& w) noexcept = 0;
  /// Called when the last handle went away while the event was expected; the home reports it if
  /// that is a mistake.
  virtual void dropped(event_record& record, worker& w) noexcept = 0;
  /// The line that waits here now, or 0.
  [[nodiscard]] virtual site waits_at() const noexcept { return 0; }

 protected:
  ~event_home() = default;
};

/// A home that takes the values instead of slots: adapters, combinations and callbacks are made so.
template <class... Ts>
class event_sink : public event_home {
 public:
  virtual void receive(event_record& record, worker& w, Ts... values) noexcept = 0;

 protected:
  ~event_sink() = default;
};

/// The record has 48 bytes; the slots and then the id follow it in one cell of the worker's slabs.
/// Only the event's color touches it, except for handles_afar, which counts handles that other
/// colors copied. A color that drops a handle counts it down there, or sends a message if the count
/// is 0, so that `handles` is at least one as long as any other color has a handle.
struct event_record : list_node {
  event_record(event_home& at, std::uint16_t units, std::uint8_t slots, site line,
               const worker& w) noexcept
      : home(&at),
        made(line),
        cell_units(units),
        slot_count(slots),
        color(static_cast<std::uint16_t>(w.color)) {}
  /// Makes a record that is put into a list at once.
  event_record(linked_at_once l, event_home& at, std::uint16_t units, std::uint8_t slots, site line,
               const worker& w) noexcept
      : list_node(l),
        home(&at),
        made(line),
        cell_units(units),
        slot_count(slots),
        color(static_cast<std::uint16_t>(w.color)) {}

  static constexpr std::uint8_t sink = 1;          ///< the home is an event_sink<Ts...>
  static constexpr std::uint8_t foreign_slot = 2;  ///< listed in the worker's slot guards
  static constexpr std::uint8_t has_fired = 4;     ///< ended by a trigger or an unblock

  event_home* home;
  event_notifier* notifiers = nullptr;
  std::uint32_t handles = 0;
  site made;
  std::uint16_t cell_units;
  std::uint8_t slot_count;
  std::uint8_t flags = 0;
  std::uint16_t color;  ///< a place in the table of colors
  std::atomic<std::uint16_t> handles_afar{0};

  [[nodiscard]] bool expected() const noexcept { return home != nullptr; }
  /// Whether other colors have handles. If not, the record may be freed.
  [[nodiscard]] bool others_hold() const noexcept {
    // acquire: pairs with the release in dropped_afar(): writes of other colors come first
    return handles_afar.load(std::memory_order_acquire) != 0;
  }
  [[nodiscard]] void** slots() noexcept { return reinterpret_cast<void**>(this + 1); }
  /// The space where a home keeps its id of this event.
  [[nodiscard]] void* id_space() noexcept { return slots() + slot_count; }

  // make() is inlined everywhere: the sizes are constants there, which halves the work.
  // `in` is the list that takes the record, if any.
  [[gnu::always_inline]] static event_record& make(worker& w, event_home& home,
                                                   std::size_t slot_count, std::size_t id_bytes,
                                                   site made,
                                                   open_list<event_record>* in = nullptr) {
    const std::size_t bytes = sizeof(event_record) + slot_count * sizeof(void*) + id_bytes;
    void* const cell = w.memory.allocate(bytes);
    const auto units = static_cast<std::uint16_t>(slabs::units_of(bytes));
    const auto slots = static_cast<std::uint8_t>(slot_count);
    event_record* record;
    if (in != nullptr) {
      record = new (cell) event_record(linked_at_once(), home, units, slots, made, w);
      in->push_back(*record);
    } else {
      record = new (cell) event_record(home, units, slots, made, w);
    }
    return *record;
  }
};

static_assert(sizeof(event_record) == 48);

namespace detail {

/// Frees the record if nothing refers to it: no handle, no home, no list.
inline void release_if_done(event_record& record, worker& w) noexcept {
  if (record.handles == 0 && record.home == nullptr && !record.linked())
    w.memory.release_units(&record, record.cell_units);
}

/// As release_if_done(), for a record that has ended and that its home took out of its list.
inline void release_taken_out(event_record& record, worker& w) noexcept {
  if (record.handles == 0) {
    w.memory.release_units(&record, record.cell_units);
  } else {
    open_list<event_record>::let_go(record);
  }
}

/// For a record that has ended: calls its notifiers, in the order in which they were registered,
/// and frees it if nothing refers to it then.
HEDDLE_RARE void run_notifiers(event_record& record, worker& w) noexcept;
HEDDLE_RARE void triggered_again(event_record& record, worker& w, site where) noexcept;
HEDDLE_RARE void end_unlinked(event_record& record, worker& w) noexcept;
void add_notifier(event_record& record, event_notifier& n) noexcept;
HEDDLE_RARE void copied_afar(event_record& record) noexcept;
void remove_notifier(event_record& record, event_notifier& n) noexcept;

/// Ends an expected event: tells the home, then the notifiers.
inline void finish_event(event_record& record, worker& w, event_home& home) noexcept {
  record.flags |= event_record::has_fired;
  if (record.flags & event_record::foreign_slot) [[unlikely]]
    forget_slots(w, record);
  if (record.notifiers == nullptr) [[likely]] {  // no notifier can come: the event is empty
    home.fired(record, w);
    return;
  }
  home.fired(record, w);
  run_notifiers(record, w);
}

/// Ends an expected event without telling its home, which is ending or knows already, and has taken
/// the event from its list.
inline void cancel_event(event_record& record, worker& w) noexcept {
  record.home = nullptr;
  if (record.flags & event_record::foreign_slot) [[unlikely]]
    forget_slots(w, record);
  if (record.notifiers != nullptr) [[unlikely]]
    return run_notifiers(record, w);
  release_if_done(record, w);
}

class event_handle {
 public:
  event_handle() noexcept = default;
  explicit event_handle(event_record* record) noexcept : record_(record) {
    if (record_ != nullptr) ++record_->handles;
  }
  event_handle(const event_handle& other) noexcept : record_(other.record_) {
    if (record_ == nullptr) return;
    if (const worker* const w = worker::current(); w != nullptr && w->color != record_->color)
        [[unlikely]] {
      detail::copied_afar(*record_);
    } else {
      ++record_->handles;
    }
  }
  event_handle(event_handle&& other) noexcept : record_(std::exchange(other.record_, nullptr)) {}
  event_handle& operator=(event_handle other) noexcept {
    std::swap(record_, other.record_);
    return *this;
  }
  ~event_handle() {
    event_record* const record = record_;
    if (record == nullptr) return;
    worker* const w = worker::current();
    if (w == nullptr || w->color != record->color || record->handles != 1 ||
        record->home != nullptr || record->others_hold()) {
      drop(*record);
      return;
    }
    record->handles = 0;
    if (record->linked()) return;  // the home's list still has the record
    if (!w->memory.try_release_units(record, record->cell_units)) [[unlikely]]
      release_afar(*record);
  }

  [[nodiscard]] event_record* record() const noexcept { return record_; }

  /// Makes a handle that the record counts already.
  [[nodiscard]] static event_handle adopt(event_record& record) noexcept {
    event_handle h;
    h.record_ = &record;
    return h;
  }

 protected:
  event_record* record_ = nullptr;

 private:
  /// Drops a handle in all cases, not only in the usual one.
  [[gnu::noinline]] static void drop(event_record& record) noexcept;
  [[gnu::noinline]] static void release_afar(event_record& record) noexcept;
};

/// Notes a slot that lies in another frame than the home does, or on the stack.
HEDDLE_RARE void check_slot_slow(worker& w, event_record& record, void* slot) noexcept;

inline void check_slot(worker& w, event_record& record, const void* home, const void* slot) {
  if (w.memory.same_cell(home, slot)) [[likely]]
    return;  // the slot ends together with its home
  check_slot_slow(w, record, const_cast<void*>(slot));
}

/// Makes an event of `home` that has the slots of `like`, which must still be expected.
[[nodiscard]] event_record& make_event_record_like(worker& w, event_record& like, event_home& home,
                                                   const void* home_address, std::size_t id_bytes,
                                                   open_list<event_record>* in);

/// Makes an event of `home`, which lies at `home_address`, with these slots, in a list or in none.
template <class... Slots>
[[nodiscard, gnu::always_inline]] inline event_record& make_event_record(
    worker& w, event_home& home, [[maybe_unused]] const void* home_address, std::size_t id_bytes,
    site made, open_list<event_record>* in, Slots&... slots) {
  static_assert((!std::is_const_v<Slots> && ...),
                "a slot is written when its event is triggered: give a variable that is not const");
  event_record& record = event_record::make(w, home, sizeof...(Slots), id_bytes, made, in);
  [[maybe_unused]] void** at = record.slots();
  ((*at++ = const_cast<void*>(static_cast<const void*>(std::addressof(slots)))), ...);
  (check_slot(w, record, home_address, std::addressof(slots)), ...);
  return record;
}

}  // namespace detail

}  // namespace heddle

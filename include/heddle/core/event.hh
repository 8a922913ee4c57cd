// SPDX-License-Identifier: MIT
// event<Ts...>: something that happens once and carries values. The handle is one pointer; copies
// name one occurrence. Triggering stores the values in the slots that were named when the event was
// made, and tells its home (a rendezvous, a twait block, a combination, a callback). The waiting
// function runs later, from the worker's queue, never inside trigger().
//
// States of a record: expected (home set) -> ended (home null; fired, cancelled or dropped). It is
// freed when no handle is left and its home has let go of it.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "heddle/core/message.hh"
#include "heddle/core/slot_guard.hh"
#include "heddle/core/worker.hh"

namespace heddle {

struct event_record;
template <class... Ts>
class event;

/// Told when an event ends, however it ends; lies in somebody's record. See event::at_trigger.
struct event_notifier {
  using function = void (*)(event_notifier&, worker&) noexcept;
  explicit event_notifier(function f) noexcept : ended(f) {}

  function ended;
  event_notifier* next = nullptr;
};

/// Where an event reports. Thread: the color of the event.
class event_home {
 public:
  /// The event has happened; its values are in the slots. The record has left no list yet.
  virtual void fired(event_record& record, worker& w) noexcept = 0;
  /// The last handle went away while the event was expected; the home reports it if that is a
  /// mistake.
  virtual void dropped(event_record& record, worker& w) noexcept = 0;
  /// The line that waits here now, or 0; and the line that made this home.
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

/// 48 bytes; the slots and then the id follow. One cell of the worker's slabs. Only the event's
/// color touches it, but for handles_afar: handles that other colors copied. A color that drops one
/// takes it from there, or sends word when there is none left, so that `handles` counts at least
/// one as long as any other color has any.
struct event_record : list_node {
  event_record() noexcept = default;
  explicit event_record(linked_at_once l) noexcept : list_node(l) {}

  static constexpr std::uint8_t sink = 1;          ///< the home is an event_sink<Ts...>
  static constexpr std::uint8_t foreign_slot = 2;  ///< listed in the worker's slot guards
  static constexpr std::uint8_t has_fired = 4;     ///< ended by a trigger or an unblock

  event_home* home = nullptr;
  event_notifier* notifiers = nullptr;
  std::uint32_t handles = 0;
  site made = 0;
  std::uint16_t cell_units = 0;
  std::uint8_t slot_count = 0;
  std::uint8_t flags = 0;
  std::uint16_t color = 0;  ///< a place in the table of colors
  std::atomic<std::uint16_t> handles_afar{0};

  [[nodiscard]] bool expected() const noexcept { return home != nullptr; }
  [[nodiscard]] void** slots() noexcept { return reinterpret_cast<void**>(this + 1); }
  /// Where a home keeps its id of this event.
  [[nodiscard]] void* id_space() noexcept { return slots() + slot_count; }

  // Inlined everywhere: its sizes are constants there, which halves what it does.
  // `in` is where the record stands from now on, if anywhere.
  [[gnu::always_inline]] static event_record& make(worker& w, event_home& home,
                                                   std::size_t slot_count, std::size_t id_bytes,
                                                   site made,
                                                   open_list<event_record>* in = nullptr) {
    const std::size_t bytes = sizeof(event_record) + slot_count * sizeof(void*) + id_bytes;
    void* const cell = w.memory.allocate(bytes);
    event_record* record;
    if (in != nullptr) {
      record = new (cell) event_record(linked_at_once());
      in->push_back(*record);
    } else {
      record = new (cell) event_record;
    }
    record->home = &home;
    record->cell_units = static_cast<std::uint16_t>(slabs::units_of(bytes));
    record->slot_count = static_cast<std::uint8_t>(slot_count);
    record->made = made;
    record->color = static_cast<std::uint16_t>(w.color);
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

/// The same for a record that has ended and that its home took out of its list.
inline void release_taken_out(event_record& record, worker& w) noexcept {
  if (record.handles == 0) {
    w.memory.release_units(&record, record.cell_units);
  } else {
    open_list<event_record>::let_go(record);
  }
}

/// The record's notifiers, in the order in which they were registered.
HEDDLE_RARE void run_notifiers(event_record& record, worker& w) noexcept;
HEDDLE_RARE void triggered_again(event_record& record, worker& w) noexcept;
HEDDLE_RARE void end_unlinked(event_record& record, worker& w) noexcept;
void add_notifier(event_record& record, event_notifier& n) noexcept;
HEDDLE_RARE void copied_afar(event_record& record) noexcept;
void remove_notifier(event_record& record, event_notifier& n) noexcept;

/// Ends an expected event: tells the home, then the notifiers.
inline void finish_event(event_record& record, worker& w, event_home& home) noexcept {
  record.flags |= event_record::has_fired;
  if (record.flags & event_record::foreign_slot) [[unlikely]]
    forget_slots(w, record);
  if (record.notifiers == nullptr) [[likely]] {  // none can come: the event is empty
    home.fired(record, w);
    return;
  }
  home.fired(record, w);
  run_notifiers(record, w);
  release_if_done(record, w);
}

/// Ends an expected event without telling its home, which is going away or has been told, and has
/// taken it from its list.
inline void cancel_event(event_record& record, worker& w) noexcept {
  record.home = nullptr;
  if (record.flags & event_record::foreign_slot) [[unlikely]]
    forget_slots(w, record);
  if (record.notifiers != nullptr) [[unlikely]]
    run_notifiers(record, w);
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
        record->home != nullptr || record->handles_afar.load(std::memory_order_relaxed) != 0) {
      drop(*record);
      return;
    }
    record->handles = 0;
    if (record->linked()) return;  // its home still holds the id
    if (!w->memory.try_release_units(record, record->cell_units)) [[unlikely]]
      release_afar(*record);
  }

  [[nodiscard]] event_record* record() const noexcept { return record_; }

  /// A handle that was counted already.
  [[nodiscard]] static event_handle adopt(event_record& record) noexcept {
    event_handle h;
    h.record_ = &record;
    return h;
  }

 protected:
  event_record* record_ = nullptr;

 private:
  /// All cases of a handle that goes away.
  [[gnu::noinline]] static void drop(event_record& record) noexcept;
  [[gnu::noinline]] static void release_afar(event_record& record) noexcept;
};

}  // namespace detail

/// Thread: the color that made it; handles may be passed to other colors, where trigger(),
/// unblock()
///   and at_trigger() travel as messages and take effect in the event's color, in the order of the
///   calls, and where an event always seems to be expected.
/// Resumes: the waiter later, in the order in which functions became unblocked.
/// Owns: copies share one occurrence; the slots belong to whoever named them, and are cut off when
/// their
///   frame ends.
/// Cancel: when its home goes, the event is empty and a trigger does nothing.
/// Fails: dropping the last handle of an expected event is reported (abandoned-event), and fires it
///   without values.
///
///   void resolve(std::string name, event<address> done);   // calls done(a) when it knows
///   twait { resolve("a.example", mkevent(a)); resolve("b.example", mkevent(b)); }
template <class... Ts>
class event : public detail::event_handle {
 public:
  using detail::event_handle::event_handle;

  /// Whether it is still expected.
  [[nodiscard]] explicit operator bool() const noexcept {
    return record_ != nullptr && (is_afar() || record_->expected());
  }
  [[nodiscard]] bool empty() const noexcept { return !*this; }

  /// Stores the values in the slots, and wakes the waiter. Does nothing when the event is empty.
  template <class... Us>
    requires(sizeof...(Us) == sizeof...(Ts) && (std::constructible_from<Ts, Us &&> && ...))
  void trigger(Us&&... values) const {
    event_record* const record = record_;
    if (record == nullptr) return;
    worker& w = worker::here();
    event_home* const home = record->home;
    // The usual case needs nothing after the home has been told, so that telling it is a jump.
    if constexpr (plain_values<Us...>) {
      if (record->color == w.color && home != nullptr && record->flags == 0 &&
          record->notifiers == nullptr) [[likely]] {
        record->home = nullptr;
        record->flags = event_record::has_fired;
        store(std::index_sequence_for<Ts...>(), std::forward<Us>(values)...);
        home->fired(*record, w);
        return;
      }
    }
    trigger_slow(*record, w, std::forward<Us>(values)...);
  }
  template <class... Us>
    requires(sizeof...(Us) == sizeof...(Ts) && (std::constructible_from<Ts, Us &&> && ...))
  void operator()(Us&&... values) const {
    trigger(std::forward<Us>(values)...);
  }

  /// Fires without touching the slots.
  void unblock() const {
    if (record_ == nullptr) return;
    worker& w = worker::here();
    if (record_->color != w.color) [[unlikely]] {
      send_message(w, record_->color, [target = *this] { target.unblock(); });
      return;
    }
    event_home* const home = std::exchange(record_->home, nullptr);
    if (home != nullptr) detail::finish_event(*record_, w, *home);
  }
  /// An event without values on the same occurrence: firing either empties both.
  [[nodiscard]] event<> unblocker() const noexcept { return event<>(record_); }

  /// `n` fires after this event's waiter has been notified, however this event ends. At once if it
  /// is empty; an empty n is ignored. Several fire in the order of registration.
  void at_trigger(event<> n) const;

 private:
  /// Values whose assignment runs none of the programmer's code.
  template <class... Us>
  static constexpr bool plain_values =
      ((std::is_trivially_copyable_v<Ts> && std::is_same_v<Ts, std::remove_cvref_t<Us>>) && ...);

  /// All cases of a trigger.
  template <class... Us>
  [[gnu::noinline]] void trigger_slow(event_record& of, worker& w, Us&&... values) const {
    event_record* const record = &of;
    if (record->color != w.color) [[unlikely]] {
      trigger_afar(w, Ts(std::forward<Us>(values))...);
      return;
    }
    event_home* const home = record->home;
    if (home == nullptr) [[unlikely]] {
      detail::triggered_again(*record, w);
      return;
    }
    if (record->flags & event_record::sink) [[unlikely]] {
      if constexpr (sizeof...(Ts) == 0) {
        if (record->slot_count != 0) return unblock();  // an unblocker: its sink takes values
      }
      record->home = nullptr;
      record->flags |= event_record::has_fired;
      static_cast<event_sink<Ts...>*>(home)->receive(*record, w, Ts(std::forward<Us>(values))...);
      if (record->notifiers == nullptr) return;
      detail::run_notifiers(*record, w);
      detail::release_if_done(*record, w);
      return;
    }
    record->home = nullptr;  // before the values: an assignment may trigger again
    if constexpr (sizeof...(Ts) > 0) {
      finisher finish{*record, w, *home};
      store(std::index_sequence_for<Ts...>(), std::forward<Us>(values)...);
    } else {
      detail::finish_event(*record, w, *home);
    }
  }
  /// Another color than the event's runs.
  [[nodiscard]] bool is_afar() const noexcept {
    const worker* const w = worker::current();
    return w != nullptr && w->color != record_->color;
  }
  [[gnu::cold, gnu::noinline]] void trigger_afar(worker& w, Ts&&... values) const {
    send_message(w, record_->color,
                 [target = *this, kept = std::tuple<Ts...>(std::move(values)...)]() mutable {
                   std::apply([&](Ts&... v) { target.trigger(std::move(v)...); }, kept);
                 });
  }
  struct finisher {  // so that the event ends even when an assignment throws
    event_record& record;
    worker& w;
    event_home& home;
    ~finisher() {
      // An assignment may have ended the home: it then unlinked the record. Homes that only store
      // never link it; what they need is done here.
      if (record.linked()) [[likely]] {
        detail::finish_event(record, w, home);
      } else {
        detail::end_unlinked(record, w);
      }
    }
  };
  template <std::size_t... I, class... Us>
  void store(std::index_sequence<I...>, Us&&... values) const {
    void** const slots = record_->slots();
    ((slots[I] != nullptr ? void(*static_cast<Ts*>(slots[I]) = std::forward<Us>(values)) : void()),
     ...);
  }
};

namespace detail {

/// A notifier that fires an event and goes.
void notify_event(event_record* watched, event<> n);

/// Notes the slots that lie in another frame than the home does.
HEDDLE_RARE void check_slot_slow(worker& w, event_record& record, void* slot);

inline void check_slot(worker& w, event_record& record, const void* home, void* slot) {
  if (w.memory.same_cell(home, slot)) [[likely]]
    return;                                     // ends together with its home
  if (!w.memory.home().contains(slot)) return;  // the programmer's own: heap, stack, static
  check_slot_slow(w, record, slot);
}

/// Makes an event of `home`, which lies at `home_address`, with these slots, in a list or in none.
template <class... Slots>
[[nodiscard, gnu::always_inline]] inline event_record& make_event_record(
    worker& w, event_home& home, [[maybe_unused]] const void* home_address, std::size_t id_bytes,
    site made, open_list<event_record>* in, Slots&... slots) {
  event_record& record = event_record::make(w, home, sizeof...(Slots), id_bytes, made, in);
  [[maybe_unused]] void** at = record.slots();
  ((*at++ = const_cast<void*>(static_cast<const void*>(std::addressof(slots)))), ...);
  (check_slot(w, record, home_address, std::addressof(slots)), ...);
  return record;
}

}  // namespace detail

template <class... Ts>
void event<Ts...>::at_trigger(event<> n) const {
  if (!n) return;
  if (record_ != nullptr && is_afar()) [[unlikely]] {
    send_message(worker::here(), record_->color,
                 [target = *this, n = std::move(n)]() mutable { target.at_trigger(std::move(n)); });
    return;
  }
  if (!*this) {
    n.trigger();
    return;
  }
  detail::notify_event(record_, std::move(n));
}

}  // namespace heddle

// SPDX-License-Identifier: MIT
// The rare paths of events: drops, notifiers, second triggers.
#include "heddle/core/event.hh"

#include "heddle/core/detail/late_drop.hh"

namespace heddle::detail {

namespace {

/// Handles the drop of the last handle in the event's color.
void dropped(event_record& record) noexcept {
  worker* w = worker::current();
  // acquire: writes of other colors before they dropped their handles
  record.handles = record.handles_afar.exchange(0, std::memory_order_acquire);
  if (record.handles != 0) return;  // other colors still have handles
  if (record.home != nullptr) {
    HEDDLE_ASSERT(w != nullptr, "an expected event was dropped on a thread without a runtime");
    record.handles = 1;  // the record lives while the home and the notifiers run
    if (record.flags & event_record::foreign_slot) forget_slots(*w, record);
    nest(*w, [&record](worker& here) {
      if (event_home* const home = std::exchange(record.home, nullptr)) home->dropped(record, here);
      --record.handles;
      if (record.notifiers != nullptr) return run_notifiers(record, here);
      release_if_done(record, here);
    });
    return;
  }
  if (record.linked()) return;  // the home's list still has the record
  if (w != nullptr) {
    w->memory.release_units(&record, record.cell_units);
  } else {
    slabs::release_elsewhere(&record, std::size_t{record.cell_units} * 8);
  }
}

void dropped_afar(event_record& record, worker& w) noexcept {
  std::uint16_t others = record.handles_afar.load(std::memory_order_relaxed);
  while (others != 0) {
    // release: pairs with the acquire in dropped()
    if (record.handles_afar.compare_exchange_weak(others, others - 1, std::memory_order_release,
                                                  std::memory_order_relaxed))
      return;
  }
  send_urgent_message(w, record.color,
                      [&record] { static_cast<void>(event_handle::adopt(record)); });
}

}  // namespace

void event_handle::drop(event_record& record) noexcept {
  if (slabs::outlived(&record)) [[unlikely]] {
    const late_drop no_runtime(record.color);
    if (--record.handles == 0) dropped(record);
    return;
  }
  if (worker* const w = worker::current(); w != nullptr && w->color != record.color) {
    dropped_afar(record, *w);
  } else if (--record.handles == 0) {
    dropped(record);
  }
}

void event_handle::release_afar(event_record& record) noexcept {
  worker::running().memory.release_units(&record, record.cell_units);
}

void copied_afar(event_record& record) noexcept {
  const auto before = record.handles_afar.fetch_add(1, std::memory_order_relaxed);
  HEDDLE_ASSERT(before != 0xffff,
                "more than 65535 handles of one event in other colors; share one by reference");
}

void end_unlinked(event_record& record, worker& w) noexcept {
  if (record.flags & event_record::foreign_slot) forget_slots(w, record);
}

void run_notifiers(event_record& record, worker& w) noexcept {
  ++record.handles;  // a notifier may drop the last handle
  nest(w, [&record](worker& here) {
    while (event_notifier* const n = record.notifiers) {
      remove_notifier(record, *n);
      n->ended(*n, here);
    }
    --record.handles;
    release_if_done(record, here);
  });
}

void add_notifier(event_record& record, event_notifier& n) noexcept {
  HEDDLE_ASSERT(
      worker::current() == nullptr || worker::current()->color == record.color,
      "an event of another color is given to an adapter, a timer, a lock or a channel here; other "
      "colors may trigger() and unblock() it: do the rest in its own color, by post()");
  n.next = nullptr;
  if (record.notifiers == nullptr) {
    n.prev = &n;
    record.notifiers = &n;
    return;
  }
  event_notifier& first = *record.notifiers;
  n.prev = first.prev;
  first.prev->next = &n;
  first.prev = &n;
}

void remove_notifier(event_record& record, event_notifier& n) noexcept {
  if (n.prev == nullptr) return;  // the notifier was called, or is about to be
  if (record.notifiers == &n) {
    record.notifiers = n.next;
    if (n.next != nullptr) n.next->prev = n.prev;
  } else {
    n.prev->next = n.next;
    (n.next != nullptr ? n.next : record.notifiers)->prev = n.prev;
  }
  n.next = nullptr;
  n.prev = nullptr;
}

event_record& make_event_record_like(worker& w, event_record& like, event_home& home,
                                     const void* home_address, std::size_t id_bytes,
                                     open_list<event_record>* in) {
  event_record& record = event_record::make(w, home, like.slot_count, id_bytes, like.made, in);
  for (std::size_t i = 0; i < like.slot_count; ++i) {
    void* const slot = like.slots()[i];
    record.slots()[i] = slot;
    if (slot != nullptr) check_slot(w, record, home_address, slot);  // else it was cut off
  }
  return record;
}

void triggered_again(event_record& record, worker& w, site where) noexcept {
  if (!w.reports(diagnostic_kind::double_trigger)) return;
  if ((record.flags & event_record::has_fired) == 0)
    return;  // cancelled: a late trigger is no mistake
  w.sched.report({diagnostic_kind::double_trigger, record.made, where, 1, {}, {}});
}

namespace {

struct event_to_notify : event_notifier {
  explicit event_to_notify(event<> n) noexcept : event_notifier(&fire), target(std::move(n)) {}
  static void fire(event_notifier& n, worker& w) noexcept {
    auto& self = static_cast<event_to_notify&>(n);
    event<> target = std::move(self.target);
    std::destroy_at(&self);
    w.memory.release(&self, sizeof(event_to_notify));
    target.trigger();
  }
  event<> target;
};

}  // namespace

void notify_event(event_record* watched, event<> n) {
  worker& w = worker::here();
  auto* notifier = new (w.memory.allocate(sizeof(event_to_notify))) event_to_notify(std::move(n));
  add_notifier(*watched, *notifier);
}

}  // namespace heddle::detail

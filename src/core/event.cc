// SPDX-License-Identifier: MIT
// The rare paths of events: drops, notifiers, second triggers.
#include "heddle/core/event.hh"

namespace heddle::detail {

namespace {

/// The last handle in the event's color went away.
void dropped(event_record& record) noexcept {
  worker* w = worker::current();
  // acquire: what other colors did before they dropped theirs
  record.handles = record.handles_afar.exchange(0, std::memory_order_acquire);
  if (record.handles != 0) return;  // they have some still
  if (record.home != nullptr) {
    HEDDLE_ASSERT(w != nullptr, "an expected event was dropped on a thread without a runtime");
    event_home* home = record.home;
    record.home = nullptr;
    record.handles = 1;  // stays alive while the home and the notifiers are told
    if (record.flags & event_record::foreign_slot) forget_slots(*w, record);
    home->dropped(record, *w);
    if (record.notifiers != nullptr) run_notifiers(record, *w);
    record.handles = 0;
  }
  if (record.linked()) return;  // its home still holds the id
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
  send_message(w, record.color, [&record] { static_cast<void>(event_handle::adopt(record)); });
}

}  // namespace

void event_handle::drop(event_record& record) noexcept {
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
  ++record.handles;  // a notifier may drop the last handle: the caller frees the record then
  while (event_notifier* n = record.notifiers) {
    record.notifiers = n->next;
    n->next = nullptr;
    n->ended(*n, w);
  }
  --record.handles;
}

void add_notifier(event_record& record, event_notifier& n) noexcept {
  HEDDLE_ASSERT(
      worker::current() == nullptr || worker::current()->color == record.color,
      "an event of another color is given to an adapter, a timer, a lock or a channel here; other "
      "colors may trigger() and unblock() it: do the rest in its own color, by post()");
  event_notifier** at = &record.notifiers;
  while (*at != nullptr) at = &(*at)->next;
  n.next = nullptr;
  *at = &n;
}

void remove_notifier(event_record& record, event_notifier& n) noexcept {
  for (event_notifier** at = &record.notifiers; *at != nullptr; at = &(*at)->next) {
    if (*at != &n) continue;
    *at = n.next;
    n.next = nullptr;
    return;
  }
}

void triggered_again(event_record& record, worker& w) noexcept {
  if (!w.reports(diagnostic_kind::double_trigger)) return;
  if ((record.flags & event_record::has_fired) == 0)
    return;  // cancelled: a late trigger is no mistake
  w.sched.report({diagnostic_kind::double_trigger, record.made, 0, 1, {}, {}});
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

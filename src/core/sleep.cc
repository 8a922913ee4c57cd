// SPDX-License-Identifier: MIT
// Timers that wake frames and timers that fire events.
#include "heddle/core/sleep.hh"

#include <memory>

namespace heddle {

const wait_kind sleep_awaiter::kind_of_wait{"sleep", [](wait& x, worker& w) noexcept {
                                              auto& self = static_cast<sleep_awaiter&>(x);
                                              self.canceled_ = true;
                                              self.alarm_.disarm();
                                              wake(self, w);
                                            }};

void sleep_awaiter::alarm::fire(timer_node& t, worker& w) noexcept {
  wake(static_cast<alarm&>(t).owner, w);
}

namespace {

/// A timer that fires an event, and is forgotten when the event ends first.
struct event_timer : timer_node, event_notifier {
  event_timer(event<> e) noexcept
      : timer_node(&due_now), event_notifier(&event_ended), target(std::move(e)) {}

  [[gnu::noinline]] static event_timer& make(worker& w, event<>& done) {
    auto* t = new (w.memory.allocate(sizeof(event_timer))) event_timer(std::move(done));
    detail::add_notifier(*t->target.record(), *t);
    return *t;
  }
  static void due_now(timer_node& t, worker& w) noexcept {
    auto& self = static_cast<event_timer&>(t);
    detail::remove_notifier(*self.target.record(), self);
    event<> target = std::move(self.target);
    free(self, w);
    target.trigger();
  }
  static void event_ended(event_notifier& n, worker& w) noexcept {
    auto& self = static_cast<event_timer&>(n);
    event<> keep = std::move(self.target);  // dropped after this timer has been freed
    free(self, w);
  }
  static void free(event_timer& self, worker& w) noexcept {
    std::destroy_at(&self);
    w.memory.release(&self, sizeof(event_timer));
  }
  event<> target;
};

/// A plain frame that fires an event when its turn comes.
struct delivery : frame {
  static heddle_link run(frame* f, heddle_worker* at) {
    worker& w = *reinterpret_cast<worker*>(at);
    event_record* const record = static_cast<delivery*>(f)->target.record();
    // In the usual case this is the only handle left, so the delivery is freed first. A home that
    // has the event in a list takes it out and frees it.
    if (record->color != w.color || record->handles != 1 || record->home == nullptr ||
        !record->linked() || record->flags != 0 || record->notifiers != nullptr ||
        record->others_hold() || !w.memory.try_release_units(f, slabs::units_of(sizeof(delivery))))
        [[unlikely]]
      return run_slow(f, at);
    event_home* const home = std::exchange(record->home, nullptr);
    record->flags = event_record::has_fired;
    record->handles = 0;
    home->fired(*record, w);
    return no_link;
  }
  /// Fires the event in all cases, not only in the usual one.
  [[gnu::noinline]] static heddle_link run_slow(frame* f, heddle_worker* at) {
    const event<> target = std::move(static_cast<delivery*>(f)->target);
    end(f, at);
    target.trigger();
    return no_link;
  }
  static void end(frame* f, heddle_worker* at) {
    auto* self = static_cast<delivery*>(f);
    std::destroy_at(self);
    reinterpret_cast<worker*>(at)->memory.release(self, sizeof(delivery));
  }
  static void post(worker& w, event<>& e) {
    auto* d = new (w.memory.allocate(sizeof(delivery))) delivery(e);
    w.post(link_of(*d));
  }
  explicit delivery(event<>& e) noexcept
      : frame{&run, &end, no_link, HEDDLE_AT_QUEUED, 0}, target(std::move(e)) {}
  event<> target;
};

}  // namespace

void timer(nanoseconds span, event<> done) {
  if (!done) return;
  worker& w = worker::here();
  if (span <= nanoseconds::zero()) {
    delivery::post(w, done);
  } else {
    w.sched.arm_after(w, event_timer::make(w, done), span);
  }
}

void timer_until(time_point when, event<> done) {
  if (!done) return;
  worker& w = worker::here();
  w.sched.arm(w, event_timer::make(w, done), when);
}

void detail::asap_function::operator()(event<> done) const {
  if (!done) return;
  delivery::post(worker::here(), done);
}

}  // namespace heddle

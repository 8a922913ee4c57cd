// SPDX-License-Identifier: MIT
// Combining events: one event in place of several. Firing it fires every part that is still
// expected, at once, left to right, with the same values; unblocking it unblocks them. When every
// part has ended by itself the combination is empty too.
//
//   event<int> both = a + b;      // or: e += more;
#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "heddle/core/event.hh"

namespace heddle {

namespace detail {

/// The home of a combination, in a cell of its own, which is freed when its record has ended.
template <class... Ts>
class combination final : public event_sink<Ts...> {
 public:
  [[nodiscard]] static event<Ts...> make(event<Ts...> first, event<Ts...> second) {
    worker& w = worker::here();
    auto* self = new (w.memory.allocate(sizeof(combination))) combination;
    event_record& record = event_record::make(w, *self, sizeof...(Ts), 0, first.record()->made);
    record.flags |= event_record::sink;
    event<Ts...> whole(&record);
    self->record_ = &record;
    self->watch(self->parts_[0], std::move(first));
    self->watch(self->parts_[1], std::move(second));
    return whole;
  }

  void receive(event_record&, worker& w, Ts... values) noexcept override {
    parts_of parts = take_parts(w);
    if (parts.first && parts.second) {
      fire(w, std::move(parts.first), values...);
      fire(w, std::move(parts.second), std::move(values)...);
    } else {
      fire(w, std::move(parts.first ? parts.first : parts.second), std::move(values)...);
    }
  }
  void fired(event_record&, worker& w) noexcept override {
    parts_of parts = take_parts(w);
    nest(w, [part = std::move(parts.first)](worker&) { part.unblock(); });
    nest(w, [part = std::move(parts.second)](worker&) { part.unblock(); });
  }
  void dropped(event_record&, worker& w) noexcept override {
    static_cast<void>(take_parts(w));  // dropping the parts reports each, in their order
  }

 private:
  struct part : event_notifier {
    part() noexcept : event_notifier(&ended_alone) {}
    event<Ts...> target;
    combination* owner = nullptr;
    bool watched = false;
  };

  void watch(part& p, event<Ts...> target) {
    p.owner = this;
    p.target = std::move(target);
    p.watched = true;
    add_notifier(*p.target.record(), p);
    ++waiting_;
  }
  static void ended_alone(event_notifier& n, worker& w) noexcept {
    auto& p = static_cast<part&>(n);
    p.watched = false;
    combination& self = *p.owner;
    if (--self.waiting_ != 0) return;
    event_record& record = *self.record_;
    for (part& each : self.parts_) each.target = {};
    destroy(self, w);
    cancel_event(record, w);
  }
  /// The parts that are still expected. The reverse order of the members drops the first part
  /// first.
  struct parts_of {
    event<Ts...> second;
    event<Ts...> first;
  };
  [[nodiscard]] parts_of take_parts(worker& w) noexcept {
    const auto take = [](part& p) {
      if (!p.watched) return event<Ts...>();  // the part has ended by itself
      remove_notifier(*p.target.record(), p);
      return std::move(p.target);
    };
    parts_of parts;
    parts.first = take(parts_[0]);
    parts.second = take(parts_[1]);
    destroy(*this, w);
    return parts;
  }
  template <class... Us>
  static void fire(worker& w, event<Ts...> part, Us&&... values) noexcept {
    nest(w, [part = std::move(part),
             kept = std::tuple<Ts...>(std::forward<Us>(values)...)](worker&) mutable {
      std::apply([&](Ts&... v) { part.trigger(std::move(v)...); }, kept);
    });
  }
  static void destroy(combination& self, worker& w) noexcept {
    std::destroy_at(&self);
    w.memory.release(&self, sizeof(combination));
  }

  event_record* record_ = nullptr;
  int waiting_ = 0;
  part parts_[2];
};

}  // namespace detail

/// Combines two events. If one of them is empty, the result is the other. An event combined with
/// itself stays as it is.
template <class... Ts>
[[nodiscard]] event<Ts...> operator+(event<Ts...> a, event<Ts...> b) {
  if (!a || a.record() == b.record()) return b;
  if (!b) return a;
  return detail::combination<Ts...>::make(std::move(a), std::move(b));
}
template <class... Ts>
event<Ts...>& operator+=(event<Ts...>& a, event<Ts...> b) {
  a = std::move(a) + std::move(b);
  return a;
}

}  // namespace heddle

// SPDX-License-Identifier: MIT
// The line of a gate: which waiter enters next, and how one leaves it early.
#include "heddle/sync/gate.hh"

#include <memory>

namespace heddle {

const wait_kind gate::awaiter::record::kind_of_wait{"lock", &gate::awaiter::record::cancel};

void gate::admit() noexcept {
  if (admitting_) return;  // an event gave its hold back inside the loop, which goes on
  worker& w = worker::here();
  color_.check(w, kind_, std::source_location());
  admitting_ = true;
  while (!line_.empty()) {
    place& first = line_.front();
    if (first.units > free_) break;
    first.unlink();
    const std::uint32_t units = first.units;  // give() may free `first`
    free_ -= units;
    if (!first.give(first, w)) free_ += units;
  }
  admitting_ = false;
}

bool gate::awaiter::record::give(place& p, worker& w) noexcept {
  auto& self = static_cast<record&>(p);
  if (!self.owner.commit()) return false;  // stays parked until its choice cancels it
  self.owner.given_ = 1;
  wake(self, w);
  return true;
}

void gate::awaiter::record::cancel(wait& x, worker& w) noexcept {
  auto& self = static_cast<record&>(x);
  wake(self, w);
  self.leave();
}

void gate::awaiter::record::leave() noexcept {
  static_cast<place&>(*this).unlink();
  owner.home_.left();
}

/// A waiter that takes units for an event. It is freed when the event ends.
struct gate::event_place final : gate::place, event_notifier {
  event_place(gate& g, std::uint32_t n, event<hold> e) noexcept
      : place(&give, n), event_notifier(&ended), home(g), target(std::move(e)) {}

  static bool give(place& p, worker& w) noexcept {
    auto& self = static_cast<event_place&>(p);
    hold taken(self.home, self.units);
    detail::remove_notifier(*self.target.record(), self);
    const event<hold> done = std::move(self.target);
    free(self, w);
    done.trigger(std::move(taken));
    return true;
  }
  static void ended(event_notifier& n, worker& w) noexcept {
    auto& self = static_cast<event_place&>(n);
    gate& left = self.home;
    const event<hold> keep = std::move(self.target);  // dropped after the waiter is freed
    free(self, w);
    left.left();
  }
  static void free(event_place& self, worker& w) noexcept {
    std::destroy_at(&self);
    w.memory.release(&self, sizeof(event_place));
  }

  gate& home;
  event<hold> target;
};

void gate::acquire_units(std::uint32_t units, event<hold> done, std::source_location where) {
  color_.check(kind_, where);
  HEDDLE_ASSERT(units > 0 && units <= units_, "more units are asked for than there are");
  if (!done) return;
  if (take(units)) {
    done.trigger(hold(*this, units));
    return;
  }
  worker& w = worker::here();
  auto* p = new (w.memory.allocate(sizeof(event_place))) event_place(*this, units, std::move(done));
  detail::add_notifier(*p->target.record(), *p);
  line_.push_back(*p);
}

}  // namespace heddle

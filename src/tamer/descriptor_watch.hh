// SPDX-License-Identifier: MIT
// An event that waits until a descriptor is ready, as an operation of the driver.
#pragma once

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <memory>
#include <type_traits>
#include <utility>

#include "heddle/core/event.hh"
#include "heddle/sched/runtime.hh"
#include "tamer/loop_state.hh"

namespace heddle::tame {

/// An event's wait for a descriptor. It ends when the descriptor is ready or the event has ended.
template <class Event>
struct watch : operation, event_notifier {
  watch(int fd, unsigned events, Event e) noexcept
      : operation(kind_of_wait, op_code::poll, fd, &completed),
        event_notifier(&event_ended),
        target(std::move(e)) {
    flags = events;
  }
  static void start(int fd, unsigned events, Event e) {
    if (!e) return;
    worker& w = worker::here();
    const int duplicate = is_owned(fd) ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (duplicate < 0 && !is_owned(fd)) return tell(e, -errno);
    auto* self = new (w.memory.allocate(sizeof(watch)))
        watch(duplicate >= 0 ? duplicate : fd, events, std::move(e));
    self->duplicate = duplicate >= 0;
    heddle::detail::add_notifier(*self->target.record(), *self);
    self->color = static_cast<std::uint16_t>(w.color);
    completion now;
    if (w.io->submit(*self, w, now)) completed(*self, w, now);
  }
  static bool completed(operation& op, worker& w, const completion& c) noexcept {
    auto& self = static_cast<watch&>(op);
    Event target = std::move(self.target);
    if (target) heddle::detail::remove_notifier(*target.record(), self);
    const bool wanted = static_cast<bool>(target);
    const std::int64_t result = c.result;
    const int to_close = self.duplicate ? self.fd : -1;
    std::destroy_at(&self);
    w.memory.release(&self, sizeof(watch));
    if (to_close >= 0) w.io->close(to_close, w);
    if (wanted) tell(target, result);
    return false;
  }
  static void tell(const Event& target, std::int64_t result) {
    if constexpr (std::is_same_v<Event, event<int>>) {
      const auto seen = static_cast<unsigned>(result < 0 ? 0 : result);
      const bool gone = (seen & (POLLHUP | POLLERR)) != 0 && (seen & POLLIN) == 0;
      target.trigger(result < 0 ? static_cast<int>(result) : gone ? -EPIPE : 0);
    } else {
      target.trigger();
    }
  }
  static void event_ended(event_notifier& n, worker& w) noexcept {
    auto& self = static_cast<watch&>(n);
    static_cast<runtime&>(w.sched).cancel(self, w);
  }
  static const wait_kind kind_of_wait;

  Event target;
  bool duplicate = false;
};

template <class Event>
const wait_kind watch<Event>::kind_of_wait{"descriptor", [](wait&, worker&) noexcept {}};

}  // namespace heddle::tame

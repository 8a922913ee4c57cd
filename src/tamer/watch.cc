// SPDX-License-Identifier: MIT
// Events that fire when a descriptor is ready. A descriptor that no tamer::fd has is watched by a
// duplicate, because programs close it as they like.
#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <memory>

#include "tamer/descriptor_waits.hh"
#include "tamer/driver.hh"

namespace heddle::tame {
namespace {

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
    descriptor_waits* const waits = waits_of(fd);
    const int duplicate = waits != nullptr ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (duplicate < 0 && waits == nullptr) return tell(e, -errno);
    auto* self = new (w.memory.allocate(sizeof(watch)))
        watch(duplicate >= 0 ? duplicate : fd, events, std::move(e));
    if (waits != nullptr) {
      waits->push_back(self->place);
    } else {
      self->place.closing = duplicate;
    }
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
    const int to_close = leave_descriptor(self.place);
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
  descriptor_wait place{*this};
};

template <class Event>
const wait_kind watch<Event>::kind_of_wait{"descriptor", [](wait&, worker&) noexcept {}};

}  // namespace
}  // namespace heddle::tame

namespace tamer {

using heddle::tame::watch;

void at_fd_read(int fd, event<> e) { watch<event<>>::start(fd, POLLIN, std::move(e)); }
void at_fd_read(int fd, event<int> e) { watch<event<int>>::start(fd, POLLIN, std::move(e)); }
void at_fd_write(int fd, event<> e) { watch<event<>>::start(fd, POLLOUT, std::move(e)); }
void at_fd_write(int fd, event<int> e) { watch<event<int>>::start(fd, POLLOUT, std::move(e)); }
void at_fd_shutdown(int fd, event<> e) { watch<event<>>::start(fd, POLLRDHUP, std::move(e)); }

}  // namespace tamer

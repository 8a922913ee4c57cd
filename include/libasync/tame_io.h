/* SPDX-License-Identifier: MIT
 * Calls of the system that wait, as events, for descriptors by number: read, write, accept, and
 * waits for readiness. Thread: the color that waits.
 */
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "async.h"

namespace tame {

/// Forgets the callback of a descriptor.
inline void clearread(int fd) { ::fdcb(fd, selread, nullptr); }
inline void clearwrite(int fd) { ::fdcb(fd, selwrite, nullptr); }
inline void waitread(int fd, evv_t e) { ::wait_on_fd(fd, selread, std::move(e)); }
inline void waitwrite(int fd, evv_t e) { ::wait_on_fd(fd, selwrite, std::move(e)); }
/// One wait for readiness, or for a signal.
inline void fdcb1(int fd, selop which, evv_t e) { ::wait_on_fd(fd, which, std::move(e)); }
inline void sigcb1(int signal, evv_t e) { ::wait_on_signal(signal, std::move(e)); }

/// One transfer on a non-blocking descriptor, when it is ready. The result is that of the system's
/// call; if it is -1, errno has the error. The buffer must live until then.
void read(int fd, char* buffer, std::size_t size, evi_t e);
void write(int fd, const char* buffer, std::size_t size, evi_t e);
void accept(int fd, sockaddr* address, socklen_t* len, evi_t e);
/// Copies bytes from one descriptor to another, until the end of the first or an error.
void proxy(int in, int out, evv_t e);

/// Waits for readiness that can be switched off. off() drops the event, so clear its rendezvous
/// before, if nothing else has the event.
class iofd_t {
 public:
  iofd_t(int fd, selop op) : fd_(fd), op_(op) {}
  iofd_t(const iofd_t&) = delete;
  iofd_t& operator=(const iofd_t&) = delete;
  ~iofd_t() { off(); }
  void on(evv_t e) {
    off();
    waits_ = std::make_unique<heddle::rendezvous<>>();
    await_readiness(this, waits_->make_event(), std::move(e));
  }
  void off() { waits_.reset(); }
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  static void await_readiness(iofd_t* self, heddle::event<> ready, evv_t e) {
    heddle::rendezvous<>& r = *self->waits_;
    ::wait_on_fd(self->fd_, self->op_, std::move(ready));
    co_await heddle::tame::next(r);
    const evv_t last = std::move(e);
    self->waits_.reset();
    last.trigger();
    co_return;
  }
  int fd_;
  selop op_;
  std::unique_ptr<heddle::rendezvous<>> waits_;
};

}  // namespace tame

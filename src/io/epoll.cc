// SPDX-License-Identifier: MIT
// Watching by epoll, edge-triggered: a descriptor is added once, at the first call that would
// block, and stays until it is closed.
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

#include "io/bare_call.hh"
#include "io/readiness.hh"

namespace heddle {
namespace {

class epoll_driver final : public readiness_driver {
 public:
  explicit epoll_driver(const driver_options& options) : readiness_driver(options) {
    epoll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd_ < 0) throw failure({errno, std::generic_category()}, "cannot make an epoll set");
    epoll_event wake{};
    wake.events = EPOLLIN | EPOLLET;
    wake.data.ptr = &nobody_;
    ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &wake);
  }
  ~epoll_driver() override { ::close(epoll_fd_); }

  int descriptor() noexcept override { return epoll_fd_; }

  [[nodiscard]] const char* name() const noexcept override { return "epoll"; }

 private:
  int watch(int fd, fd_state& state) noexcept override {
    epoll_event e{};
    e.events = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET;
    e.data.ptr = &state;
    return ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &e) == 0 || errno == EEXIST ? 0 : -errno;
  }
  void unwatch(int fd, bool shared) noexcept override {
    // The kernel does it with the last close. A duplicate elsewhere (a child's, say) would keep the
    // registration alive; where one does after all, its reports find nothing to do.
    if (shared) ::epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
  }

  void wait_reports(worker& w, time_point until) noexcept override {
    epoll_event events[batch + 3];
    const int n = sleep(events, until);
    if (n <= 0) return;
    events[n].data.ptr = events[n + 1].data.ptr = events[n + 2].data.ptr = &nobody_;
    for (int i = 0; i < n; ++i) {
      expect_third(of(events[i + 3]));
      expect_second(of(events[i + 2]));
      expect_next(of(events[i + 1]));
      fd_state& state = of(events[i]);
      if (&state == &nobody_) [[unlikely]] {
        drain_wake();
        continue;
      }
      const std::uint32_t e = events[i].events;
      constexpr std::uint32_t broken = EPOLLERR | EPOLLHUP;
      ready(state, (e & (EPOLLIN | EPOLLRDHUP | EPOLLPRI | broken)) != 0,
            (e & (EPOLLOUT | broken)) != 0, (e & (EPOLLRDHUP | EPOLLPRI | broken)) != 0, w);
    }
  }
  [[nodiscard]] static fd_state& of(const epoll_event& e) noexcept {
    return *static_cast<fd_state*>(e.data.ptr);
  }

  int sleep(epoll_event* events, time_point until) noexcept {
    if (until == time_point::min()) return wait(events, 0);
    if (until == never) return wait(events, -1);
    const nanoseconds left = until - now();
    if (left <= nanoseconds::zero()) return wait(events, 0);
    const timespec most{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    const long n = bare::wait(epoll_fd_, events, batch, most);
    if (n != -ENOSYS) return static_cast<int>(n);
    // Before Linux 5.11: milliseconds, rounded up so that a timer is never early.
    const std::int64_t ms = (left.count() + 999'999) / 1'000'000;
    return wait(events, ms > 86'400'000 ? 86'400'000 : static_cast<int>(ms));
  }
  int wait(epoll_event* events, int ms) noexcept {
    return static_cast<int>(bare::wait(epoll_fd_, events, batch, ms));
  }

  static constexpr int batch = 256;
  int epoll_fd_ = -1;
  fd_state nobody_;  // whose reports are those of wake_fd_
};

}  // namespace

std::unique_ptr<driver> make_epoll_driver(const driver_options& options) {
  return std::make_unique<epoll_driver>(options);
}

}  // namespace heddle

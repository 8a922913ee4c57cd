// SPDX-License-Identifier: MIT
// Watching by epoll, edge-triggered: a descriptor is added once, at the first call that would
// block, and stays until it is closed.
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "io/readiness.hh"
#include "io/shared_driver.hh"
#include "io/system_call.hh"

namespace heddle {
namespace {

class epoll_driver : public readiness_driver {
 public:
  explicit epoll_driver(driver_place& place) : readiness_driver(place) {
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
  [[nodiscard]] std::unique_ptr<driver> for_worker(driver_place& place) override {
    place.options = options_;
    return make_epoll_driver(place);
  }

 private:
  int watch(int fd, fd_state& state) noexcept override {
    epoll_event e = all_of(state);
    if (::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &e) == 0) return 0;
    // Still registered, because its number was closed without telling us.
    return errno == EEXIST ? watch_again(fd, state) : -errno;
  }
  int watch_again(int fd, fd_state& state) noexcept override {
    epoll_event e = all_of(state);
    // This call reports what is ready already, as adding does.
    if (::epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &e) == 0) return 0;
    if (errno != ENOENT) return -errno;
    return ::epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &e) == 0 ? 0 : -errno;
  }
  [[nodiscard]] static epoll_event all_of(fd_state& state) noexcept {
    epoll_event e{};
    e.events = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET;
    e.data.ptr = &state;
    return e;
  }
  void unwatch(int fd, bool shared) noexcept override {
    // The last close ends the registration. A duplicate elsewhere (a child's) would keep it; if
    // one does although `shared` is false, its reports find nothing to do.
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
    const nanoseconds left = span_between(now(), until);
    if (left <= nanoseconds::zero()) return wait(events, 0);
    const timespec most{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    const long n = system_call::wait(epoll_fd_, events, batch, most);
    if (n != -ENOSYS) return static_cast<int>(n);
    // Before Linux 5.11: milliseconds, rounded up so that a timer is never early.
    constexpr std::chrono::milliseconds most_ms = std::chrono::hours(24);
    const auto ms =
        std::chrono::ceil<std::chrono::milliseconds>(std::min(left, nanoseconds(most_ms)));
    return wait(events, static_cast<int>(ms.count()));
  }
  int wait(epoll_event* events, int ms) noexcept {
    return static_cast<int>(system_call::wait(epoll_fd_, events, batch, ms));
  }

  static constexpr int batch = 256;
  int epoll_fd_ = -1;
  fd_state nobody_;  // a marker: its reports are those of wake_fd_
};

}  // namespace

std::unique_ptr<driver> make_epoll_driver(driver_place& place) {
  if (place.workers > 1) return std::make_unique<shared_driver<epoll_driver>>(place);
  return std::make_unique<epoll_driver>(place);
}

}  // namespace heddle

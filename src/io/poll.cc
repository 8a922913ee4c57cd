// SPDX-License-Identifier: MIT
// Watching by poll(2): the list of descriptors that something waits for is made again for each
// sleep. It is slow with many connections, but runs everywhere.
#include <poll.h>

#include <cerrno>

#include "io/readiness.hh"
#include "io/shared_driver.hh"

namespace heddle {
namespace {

class poll_driver : public readiness_driver {
 public:
  explicit poll_driver(driver_place& place) : readiness_driver(place) {}

  [[nodiscard]] const char* name() const noexcept override { return "poll"; }
  [[nodiscard]] std::unique_ptr<driver> for_worker(driver_place& place) override {
    place.options = options_;
    return make_poll_driver(place);
  }

 private:
  int watch(int fd, fd_state& /*state*/) noexcept override {
    watched_.push_back(fd);
    return 0;
  }
  /// poll(2) goes by the number, even if it names another file by now.
  int watch_again(int /*fd*/, fd_state& /*state*/) noexcept override { return 0; }
  void unwatch(int fd, bool /*shared*/) noexcept override { std::erase(watched_, fd); }

  void wait_reports(worker& w, time_point until) noexcept override {
    polled_.clear();
    polled_.push_back({wake_fd_, POLLIN, 0});
    for (const int fd : watched_) {
      const fd_state& state = states_[fd];
      short events = 0;
      // Without a block for it, its data would end each sleep at once.
      if (!state.readers.empty() && !state.starved) events |= POLLIN | POLLRDHUP;
      if (!state.writers.empty()) events |= POLLOUT;
      if (state.polled)
        for (const operation* op = polls_[&state].first; op != nullptr; op = op->driver_next)
          events |= static_cast<short>(op->flags);
      if (events != 0) polled_.push_back({fd, events, 0});
    }
    if (sleep(until) <= 0) return;
    if (polled_[0].revents != 0) drain_wake();
    for (std::size_t i = 1; i < polled_.size(); ++i) {
      const short e = polled_[i].revents;
      if (e == 0) continue;
      constexpr short broken = POLLERR | POLLHUP | POLLNVAL;
      ready(states_[polled_[i].fd], (e & (POLLIN | POLLRDHUP | broken)) != 0,
            (e & (POLLOUT | broken)) != 0, (e & (POLLRDHUP | broken)) != 0, w);
    }
  }

  int sleep(time_point until) noexcept {
    if (until == time_point::min()) return ::poll(polled_.data(), polled_.size(), 0);
    if (until == never) return ::poll(polled_.data(), polled_.size(), -1);
    nanoseconds left = span_between(now(), until);
    if (left < nanoseconds::zero()) left = {};
    timespec span{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    return ::ppoll(polled_.data(), polled_.size(), &span, nullptr);
  }

  std::vector<int> watched_;
  std::vector<pollfd> polled_;
};

}  // namespace

std::unique_ptr<driver> make_poll_driver(driver_place& place) {
  if (place.workers > 1) return std::make_unique<shared_driver<poll_driver>>(place);
  return std::make_unique<poll_driver>(place);
}

}  // namespace heddle

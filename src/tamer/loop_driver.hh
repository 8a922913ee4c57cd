// SPDX-License-Identifier: MIT
// The driver of tamer's loop: it wraps one of Heddle's drivers, and adds virtual
// time, turns that end after one sleep, and a new driver in the child after fork().
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "heddle/sched/forwarding_driver.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::tame {

/// Virtual time: the descriptors are real; the clock advances by a microsecond at each reading, and
/// jumps to the next timer where the loop would sleep.
class loop_driver final : public forwarding_driver, public completion_router {
 public:
  loop_driver(std::string choice, const driver_options& options, bool has_virtual_time)
      : forwarding_driver(make_driver(choice, options)),
        choice_(std::move(choice)),
        options_(options),
        virtual_(has_virtual_time) {}

  [[nodiscard]] bool has_virtual_time() const noexcept { return virtual_; }
  /// The virtual time, a microsecond later than the last.
  [[nodiscard]] nanoseconds read() noexcept { return now_ += std::chrono::microseconds(1); }
  /// Whether a turn has begun since this was last asked.
  [[nodiscard]] bool take_turned() noexcept { return std::exchange(turned_, false); }
  /// The runtime stops after the next turn that may have slept.
  void stop_after_sleep(runtime* rt) noexcept { stop_ = rt; }
  /// In the child after fork(): the kernel's side of the driver belongs to the parent.
  void forked(worker& w);

  void attach(worker& owner, completion_router& r) noexcept override {
    driver::attach(owner, r);
    inner().attach(owner, *this);
  }
  bool complete(operation& op, worker& w, const completion& c) noexcept override {
    if (!c.more) pending_.erase(&op);
    return bring(op, w, c);
  }

  [[nodiscard]] bool simulated() const noexcept override { return false; }
  [[nodiscard]] bool submit(operation& op, worker& w, completion& now) noexcept override {
    pending_.insert(&op);
    const bool done = inner().submit(op, w, now);
    if (done) pending_.erase(&op);
    return done;
  }
  void turn(worker& w, time_point until) noexcept override {
    turned_ = true;
    const bool sleeps = until > now_unread();
    if (!sleeps) return inner().turn(w, time_point::min());
    if (!virtual_ || until == never) {
      inner().turn(w, until);
    } else {
      // Operations that are ready come first; only then time passes.
      inner().turn(w, time_point::min());
      if (w.idle()) now_ = until.time_since_epoch();
    }
    if (stop_ != nullptr) std::exchange(stop_, nullptr)->stop();
  }
  [[nodiscard]] time_point now() noexcept override {
    return virtual_ ? time_point(read()) : inner().now();
  }
  [[nodiscard]] nanoseconds wall_time() noexcept override {
    return virtual_ ? read() : inner().wall_time();
  }

 private:
  [[nodiscard]] time_point now_unread() noexcept {
    return virtual_ ? time_point(now_) : inner().now();
  }

  std::string choice_;
  driver_options options_;
  std::unordered_set<operation*> pending_;
  runtime* stop_ = nullptr;
  bool virtual_;
  bool turned_ = false;
  nanoseconds now_ = std::chrono::seconds(1'000'000'000);
};

inline void loop_driver::forked(worker& w) {
  // Ending the old one would reach into the parent's.
  static_cast<void>(exchange_inner(make_driver(choice_, options_)).release());
  inner().attach(w, *this);
  for (operation* const op : std::vector<operation*>(pending_.begin(), pending_.end())) {
    op->driver_state = 0;
    op->held = op->cancel_asked = false;
    op->driver_next = op->driver_prev = nullptr;
    completion now;
    if (inner().submit(*op, w, now)) complete(*op, w, now);
  }
}

}  // namespace heddle::tame

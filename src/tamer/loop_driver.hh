// SPDX-License-Identifier: MIT
// The driver of tamer's loop: it wraps one of Heddle's drivers, and adds virtual
// time, turns that end after one sleep, and a new driver in the child after fork().
#pragma once

#include <sys/time.h>

#include <atomic>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "heddle/core/callback.hh"
#include "heddle/sched/forwarding_driver.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::tame {

/// Virtual time: the descriptors are real; the clock advances by a microsecond in each turn and at
/// each reading of the program, and jumps to the next timer where the loop would sleep. Readings of
/// the runtime itself do not advance it.
class loop_driver final : public forwarding_driver, public completion_router {
 public:
  loop_driver(std::string choice, driver_place& place, bool has_virtual_time)
      : forwarding_driver(make_driver(choice, place)),
        choice_(std::move(choice)),
        options_(place.options),
        pending_(place.workers == 1 ? std::optional(operations()) : std::nullopt),
        virtual_(has_virtual_time) {}

  [[nodiscard]] bool has_virtual_time() const noexcept { return virtual_; }
  /// A reading of the program: wall time, or the virtual time advanced by a microsecond.
  [[nodiscard]] nanoseconds read() noexcept {
    if (virtual_) now_ += tick;
    return wall_time();
  }
  /// Whether a turn has begun since the last call.
  [[nodiscard]] bool take_turned() noexcept { return std::exchange(turned_, false); }
  /// Stops the runtime after the next turn that may have slept.
  void stop_after_sleep(runtime* rt) noexcept { stop_ = rt; }
  [[nodiscard]] bool has_slept() const noexcept { return stop_ == nullptr; }
  /// Makes the next turn a part of the one before it: virtual time does not advance.
  void continue_turn() noexcept { continues_ = true; }
  /// Fires e before the loop's next sleep. An event that is armed after those of this sleep have
  /// fired belongs to the sleep after it, so a function that arms itself again does not keep the
  /// loop awake.
  void at_preblock(runtime& rt, event<> e);
  void drop_preblock() noexcept { later_.clear(); }
  /// Makes a new driver in the child after fork(): the old one's kernel objects are the parent's.
  void forked(worker& w);

  timeval recent{};        ///< tamer::recent() on this worker
  time_point recent_at{};  ///< the moment of `recent` on the runtime's clock

  void attach(worker& owner, completion_router& r) noexcept override {
    driver::attach(owner, r);
    inner().attach(owner, *this);
  }
  bool complete(operation& op, worker& w, const completion& c) noexcept override {
    if (pending_ && !c.more) pending_->erase(&op);
    preblock_fired_ = false;  // there is new work: the next sleep is another one
    return bring(op, w, c);
  }

  [[nodiscard]] bool simulated() const noexcept override { return false; }
  /// Another worker cannot make this driver's turns: they change more than the inner driver.
  [[nodiscard]] bool borrow(worker&) noexcept override { return false; }
  [[nodiscard]] bool submit(operation& op, worker& w, completion& now) noexcept override {
    if (!pending_) return inner().submit(op, w, now);
    pending_->insert(&op);
    const bool done = inner().submit(op, w, now);
    if (done) pending_->erase(&op);
    return done;
  }
  void turn(worker& w, time_point until) noexcept override {
    turned_ = true;
    if (!std::exchange(continues_, false)) now_ += tick;
    const bool sleeps = until > now();
    if (!sleeps || rearm_preblock()) return inner().turn(w, time_point::min());
    if (!virtual_ || until == never) {
      inner().turn(w, until);
    } else {
      // Operations that are ready come first; only then time passes.
      inner().turn(w, time_point::min());
      if (w.idle()) now_ = until.time_since_epoch() + tick;
    }
    preblock_fired_ = false;
    if (stop_ != nullptr) std::exchange(stop_, nullptr)->stop();
  }
  [[nodiscard]] time_point now() noexcept override {
    return virtual_ ? time_point(now_) : inner().now();
  }
  [[nodiscard]] nanoseconds wall_time() noexcept override {
    return virtual_ ? now_ : inner().wall_time();
  }

 private:
  using operations = std::unordered_set<operation*>;
  static constexpr nanoseconds tick = std::chrono::microseconds(1);

  /// Gives the runtime the events that waited for this sleep. False if there are none, or if this
  /// sleep has had its events.
  [[nodiscard]] bool rearm_preblock() {
    if (preblock_fired_ || later_.empty()) return false;
    for (event<>& e : std::exchange(later_, {})) preblocking_->preblock(std::move(e));
    return true;
  }

  std::string choice_;
  driver_options options_;
  std::optional<operations> pending_;  ///< for forked(), so only with one worker
  runtime* stop_ = nullptr;
  runtime* preblocking_ = nullptr;
  std::vector<event<>> later_;                ///< preblock events of the sleep after the next
  std::atomic<bool> preblock_fired_ = false;  ///< the events of the next sleep have fired
  bool virtual_;
  bool turned_ = false;
  bool continues_ = false;
  nanoseconds now_ = std::chrono::seconds(1'000'000'000) + tick;
};

inline void loop_driver::at_preblock(runtime& rt, event<> e) {
  preblocking_ = &rt;
  event<> fires = function_event<>([this, e = std::move(e)] {
    preblock_fired_ = true;
    e.trigger();
  });
  if (preblock_fired_) {
    later_.push_back(std::move(fires));
  } else {
    rt.preblock(std::move(fires));
  }
}

inline void loop_driver::forked(worker& w) {
  // The old driver is not destroyed, because that would reach into the parent's driver.
  static_cast<void>(exchange_inner(make_driver(choice_, options_)).release());
  inner().attach(w, *this);
  for (operation* const op : std::vector<operation*>(pending_->begin(), pending_->end())) {
    op->move_to(delivery_state::idle);  // one worker: no request to cancel is on its way
    op->driver_state = 0;
    op->held = op->cancel_asked = false;
    op->driver_next = op->driver_prev = nullptr;
    completion now;
    if (!inner().submit(*op, w, now)) continue;
    op->move_to(delivery_state::pending);
    complete(*op, w, now);
  }
}

}  // namespace heddle::tame

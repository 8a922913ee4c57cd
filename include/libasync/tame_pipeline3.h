/* SPDX-License-Identifier: MIT
 * pipeline3::runner_t: a window of operations. Wait with queue_for_takeoff(), start the operation
 * with an event of mkev(), and wait for all with flush(). A control_t says how large the window is
 * and hears of each end. Thread: one color.
 */
#pragma once

#include <cstddef>
#include <ctime>
#include <utility>

#include "tame_connectors.h"

namespace pipeline3 {

class control_t : public virtual refcount {
 public:
  [[nodiscard]] virtual std::size_t get_window_size() const = 0;
  /// The time between a place in the window and the start, in microseconds.
  [[nodiscard]] virtual time_t get_delay_usec() const = 0;
  /// Operation i has ended after so many microseconds; `running` operations go on.
  virtual void landed([[maybe_unused]] std::size_t i, [[maybe_unused]] std::size_t running,
                      [[maybe_unused]] time_t microseconds) {}
};

class passive_control_t : public control_t {
 public:
  explicit passive_control_t(std::size_t window = 5, time_t delay_usec = 0)
      : window_(window), delay_usec_(delay_usec) {}
  [[nodiscard]] std::size_t get_window_size() const override { return window_; }
  [[nodiscard]] time_t get_delay_usec() const override { return delay_usec_; }
  [[nodiscard]] static ptr<passive_control_t> alloc(std::size_t window, time_t delay_usec) {
    return New refcounted<passive_control_t>(window, delay_usec);
  }

 private:
  std::size_t window_;
  time_t delay_usec_;
};

class runner_t {
 public:
  explicit runner_t(ptr<control_t> c) : control_(std::move(c)) {}
  runner_t(const runner_t&) = delete;
  runner_t& operator=(const runner_t&) = delete;

  /// Waits until the window has a place. One function waits at a time.
  void queue_for_takeoff(evv_t ready) {
    while (running_ >= control_->get_window_size()) co_await heddle::tame::next(changed_of());
    ++running_;
    if (const time_t delay = control_->get_delay_usec(); delay > 0) {
      heddle::rendezvous<> late;
      tamer::at_delay(static_cast<double>(delay) * 1e-6, late.make_event());
      co_await heddle::tame::next(late);
    }
    ready.trigger();
    co_return;
  }
  /// An event that ends the operation of the last place.
  [[nodiscard]] evv_t mkev() {
    const double begun = tamer::dnow();
    return heddle::function_event<>([this, i = started_++, begun] {
      --running_;
      control_->landed(i, running_, static_cast<time_t>((tamer::dnow() - begun) * 1e6));
      std::exchange(changed_, evv_t()).trigger();
    });
  }
  template <class... Ts>
    requires(sizeof...(Ts) > 0)
  [[nodiscard]] event<Ts...> mkev(Ts&... slots) {
    return connector::extend(mkev(), slots...);
  }
  /// Waits until all operations have ended.
  void flush(evv_t done) {
    while (running_ != 0) co_await heddle::tame::next(changed_of());
    done.trigger();
    co_return;
  }

 private:
  /// The rendezvous of the next end of an operation.
  heddle::rendezvous<>& changed_of() {
    changed_ = changes_.make_event();
    return changes_;
  }
  ptr<control_t> control_;
  std::size_t running_ = 0;
  std::size_t started_ = 0;
  heddle::rendezvous<> changes_;
  evv_t changed_;
};

}  // namespace pipeline3

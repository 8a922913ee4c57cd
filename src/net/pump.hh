// SPDX-License-Identifier: MIT
// Runs the stacks of one color: timers that are due, and one flush for all that functions have
// written since the last. Stacks read no clock and make no system call, so each needs a pump.
#pragma once

#include <memory>

#include "heddle/core/task.hh"
#include "heddle/core/timer.hh"
#include "heddle/sync/condition.hh"
#include "heddle/tcp/sequence.hh"

namespace heddle::net::detail {

/// Thread: the color that started it.
/// Owns: itself together with its lease. It runs on after the lease has ended until no connection
/// is left, so that closed connections still send what was written.
/// Cancel: the end of the runtime ends it.
class pump {
 public:
  pump() = default;
  pump(const pump&) = delete;
  pump& operator=(const pump&) = delete;
  virtual ~pump() = default;

  /// Schedules the next turn soon, because something was written or arrived. A turn may call it,
  /// too.
  void stir() noexcept;
  /// The time of this runtime, as stacks count it.
  [[nodiscard]] static tcp::instant now() noexcept;
  /// Waits until no connection is left, or the pump has ended.
  [[nodiscard]] task<> settled();

  /// Whether loopback addresses are those of the kernel beside the stack. A simulated network has
  /// no kernel.
  [[nodiscard]] virtual bool is_beside_kernel() const noexcept { return true; }

  /// Starts the pump in this color. The returned pointer keeps it in use.
  template <class Pump>
  [[nodiscard]] static std::shared_ptr<Pump> start(std::shared_ptr<Pump> p) {
    auto held = std::make_shared<lease>(p);
    begin(p);
    return {std::move(held), p.get()};
  }

 protected:
  /// Runs timers that are due, and sends what may be sent.
  virtual void turn(tcp::instant now) = 0;
  [[nodiscard]] virtual tcp::instant next_due() const = 0;
  /// Whether no connection is left.
  [[nodiscard]] virtual bool is_idle() const = 0;
  /// Called once, when the pump has stopped.
  virtual void ended() noexcept {}

 private:
  struct lease {
    explicit lease(std::shared_ptr<pump> p) noexcept : of(std::move(p)) {}
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    ~lease() {
      of->in_use_ = false;
      of->stir();
    }
    std::shared_ptr<pump> of;
  };
  struct alarm : timer_node {
    explicit alarm(pump& p) noexcept : timer_node(&fire), owner(p) {}
    static void fire(timer_node& t, worker& w) noexcept;
    pump& owner;
  };
  static void begin(std::shared_ptr<pump> p);
  static task<> run(std::shared_ptr<pump> self);
  task<> run_turns();
  void set_alarm();

  condition wake_;
  condition turned_;
  alarm alarm_{*this};
  bool stirred_ = false;
  bool in_use_ = true;
  bool running_ = false;
};

}  // namespace heddle::net::detail

// SPDX-License-Identifier: MIT
// Brings completions from drivers to the colors of their operations, and requests to cancel from
// colors to the worker whose driver has the operation.
#pragma once

#include "heddle/sched/operation.hh"
#include "sched/color_runner.hh"

namespace heddle {

/// A request that only an operation's home worker can carry out, and its answer.
struct cancel_request : frame {
  operation* op = nullptr;
  cancel_request* after = nullptr;
  std::uint32_t color = 0;
};

/// Thread: any worker's.
class completion_delivery {
 public:
  completion_delivery(worker_set& all, worker_parking& parked, color_runner& colors) noexcept
      : all_(all), parked_(parked), colors_(colors) {}

  /// runtime::complete() and runtime::cancel().
  bool complete(operation& op, worker& w, const completion& c) noexcept;
  void cancel(operation& op, worker& w) noexcept;
  /// Carries out the requests to cancel that other workers sent to `of`; `by` has its driver.
  void run_cancels(seat& of, seat& by) noexcept;
  /// Counts completions of this operation, and of some others, that travel as messages.
  [[nodiscard]] std::atomic<std::uint32_t>& on_their_way(const operation& op) noexcept {
    return all_.seats[op.home]->on_their_way(op);
  }
  /// Tries again to send the completions for which no memory was left.
  void bring_kept(seat& s) noexcept;

 private:
  bool send(seat& s, operation& op, const completion& c) noexcept;
  bool lose(operation& op, worker& w, const completion& c) noexcept;
  static void keep(seat& s, operation& op, std::int64_t result) noexcept;
  void cancel_by_borrowing(operation& op, worker& w) noexcept;
  void send_cancel(seat& to, cancel_request& m) noexcept;
  [[nodiscard]] driver& driver_of(const operation& op) noexcept { return *all_.seats[op.home]->io; }

  worker_set& all_;
  worker_parking& parked_;
  color_runner& colors_;
};

inline bool completion_delivery::complete(operation& op, worker& w, const completion& c) noexcept {
  seat& s = all_.of(w);
  const bool here = w.color == op.color || (!s.running && colors_.enter_for(s, op.color));
  if (here && on_their_way(op).load(std::memory_order_acquire) == 0 &&
      op.delivery == delivery_state::pending && !op.out_of_memory) [[likely]] {
    if (!c.more) op.move_to(delivery_state::idle);
    return op.complete(op, w, c);
  }
  return send(s, op, c);
}

}  // namespace heddle

// SPDX-License-Identifier: MIT
// A raise that happens later: a plain frame with copies of the arguments, queued at once or when
// its time has come. Nothing is allocated to queue it beyond its own cell.
//
// States: timed (its timer is armed) -> queued (in the worker's ready queue) -> done. A cancelled
// one is done at once; if its frame stands in the queue, it is freed when its turn comes. The cell
// is freed when it is done, out of the queue, and no handle is left.
#pragma once

#include <cstdint>
#include <utility>

#include "heddle/base/list.hh"
#include "heddle/core/frame.hh"
#include "heddle/core/timer.hh"
#include "heddle/core/worker.hh"

namespace heddle {

class bus;

namespace detail {

struct delivery : frame, list_node {
  struct alarm : timer_node {
    explicit alarm(delivery& d) noexcept : timer_node(&fire), owner(d) {}
    static void fire(timer_node& t, worker& w) noexcept;
    delivery& owner;
  };
  using run_function = void (*)(delivery&, bus&);
  using destroy_function = void (*)(delivery&) noexcept;

  delivery(bus& b, std::size_t cell_bytes, run_function raise, destroy_function drop) noexcept;

  /// Raises, unless it was cancelled; the frame's turn has come.
  void run(worker& w) noexcept;
  /// Drops the arguments; the raise will not happen. False when it has happened.
  bool cancel() noexcept;
  void leave() noexcept;

  bus* owner;  ///< null when done
  run_function raise_now;
  destroy_function drop_arguments;
  std::uint32_t bytes;
  std::uint32_t uses = 1;  ///< handles, and one while it is timed or queued
  bool keeps_arguments = true;
  alarm timer{*this};
};

}  // namespace detail

/// A raise that was asked for with after(); copies name the same one.
///
/// Thread: the bus's color. Cancel: cancel(); dropping the handle changes nothing.
class delayed {
 public:
  delayed() noexcept = default;
  explicit delayed(detail::delivery& d) noexcept : delivery_(&d) { ++d.uses; }
  delayed(const delayed& other) noexcept : delivery_(other.delivery_) {
    if (delivery_ != nullptr) ++delivery_->uses;
  }
  delayed(delayed&& other) noexcept : delivery_(std::exchange(other.delivery_, nullptr)) {}
  delayed& operator=(delayed other) noexcept {
    std::swap(delivery_, other.delivery_);
    return *this;
  }
  ~delayed() {
    if (delivery_ != nullptr) delivery_->leave();
  }

  /// The raise will not happen. False when it has begun already, or was cancelled.
  bool cancel() noexcept { return delivery_ != nullptr && delivery_->cancel(); }
  /// Whether it will still happen.
  [[nodiscard]] explicit operator bool() const noexcept {
    return delivery_ != nullptr && delivery_->owner != nullptr;
  }

 private:
  detail::delivery* delivery_ = nullptr;
};

}  // namespace heddle

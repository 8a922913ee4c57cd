// SPDX-License-Identifier: MIT
// A delayed raise: a plain frame with copies of the arguments, queued at once or when its timer
// expires. It needs no allocation beyond its own cell.
//
// States: timed (its timer is armed) -> queued (in the worker's ready queue) -> done. A cancelled
// delivery is done at once; if its frame is in the ready queue, the cell is freed when the frame
// runs. Otherwise the cell is freed when the delivery is done, is not queued, and has no handle
// left.
#pragma once

#include <cstdint>
#include <utility>

#include "heddle/base/list.hh"
#include "heddle/bus/topic.hh"
#include "heddle/core/frame.hh"
#include "heddle/core/timer.hh"
#include "heddle/core/worker.hh"

namespace heddle {

class bus;

namespace detail {

/// The topic and the source line of a delayed raise; a report of its exception names them.
struct raise_origin {
  const topic_info* topic;
  site asked_at;  ///< the line that posted it
};

struct delivery : frame, list_node {
  struct alarm : timer_node {
    explicit alarm(delivery& d) noexcept : timer_node(&fire), owner(d) {}
    static void fire(timer_node& t, worker& w) noexcept;
    delivery& owner;
  };
  using run_function = void (*)(delivery&, bus&);
  using destroy_function = void (*)(delivery&) noexcept;

  /// The constants of one topic.
  struct type {
    run_function raise_now;
    destroy_function drop_arguments;
    const topic_info* topic;
    std::uint32_t bytes;  ///< size of its cell
  };

  delivery(bus& b, const type& t, site from) noexcept;

  /// Called when the frame runs: raises the topic, unless the delivery was cancelled.
  void run(worker& w) noexcept;
  /// Drops the arguments and prevents the raise. False if the raise has already happened.
  bool cancel() noexcept;
  void leave() noexcept;

  bus* owner;  ///< null if done
  const type& is;
  site asked_at;           ///< the line that posted it
  std::uint32_t uses = 1;  ///< handles, plus one while it is timed or queued
  alarm timer{*this};
};

}  // namespace detail

/// A handle of a raise that after() requested; copies refer to the same raise.
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

  /// Prevents the raise. False if it has already begun or was cancelled.
  bool cancel() noexcept { return delivery_ != nullptr && delivery_->cancel(); }
  /// Whether the raise is still to come.
  [[nodiscard]] explicit operator bool() const noexcept {
    return delivery_ != nullptr && delivery_->owner != nullptr;
  }

 private:
  detail::delivery* delivery_ = nullptr;
};

}  // namespace heddle

// SPDX-License-Identifier: MIT
// Measures which handler takes the time of a frame, up to the handler's first wait.
#pragma once

#include "heddle/base/clock.hh"
#include "heddle/probe/callee.hh"

namespace heddle {

/// Thread: the worker's.
class handler_watch {
 public:
  void begin(const callee& what, time_point now) noexcept {
    end(now);
    current_ = what;
    since_ = now;
  }
  /// Called when the handler or its frame has ended.
  void end(time_point now) noexcept {
    if (current_.given != 0 && now - since_ > most_) {
      most_ = now - since_;
      longest_ = current_;
    }
    current_ = {};
  }
  /// The handler that took most time.
  [[nodiscard]] const callee& longest() const noexcept { return longest_; }
  [[nodiscard]] nanoseconds most() const noexcept { return most_; }

 private:
  callee current_;
  callee longest_;
  time_point since_{};
  nanoseconds most_{};
};

}  // namespace heddle

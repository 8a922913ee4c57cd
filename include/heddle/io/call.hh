// SPDX-License-Identifier: MIT
// One operation of the driver's as an awaiter: its result is a number, >= 0 or -errno. Files,
// names, directories and connecting are made of it, and calls of a program's own can be.
//
//   one_operation room(op_code::poll, fd, "room");   // the name appears in dumps
//   room.flags = POLLOUT;
//   const std::int64_t ready = co_await room;        // POLLOUT, or -errno
#pragma once

#include "heddle/core/promise.hh"
#include "heddle/sched/operation.hh"

namespace heddle {

/// Thread: the color that awaits it. Resumes: its frame, from the worker's queue; or it does not
/// suspend when the driver is done at once. Owns: nothing; the data that its fields point to must
/// stay until it has ended. Cancel: ends when the driver has let go, with the operation's real
/// result, or -ECANCELED. Fails: by its result; it throws nothing.
class [[nodiscard("co_await it")]] one_operation : public operation {
 public:
  /// `what` must stay, as a literal does. The fields that the code needs are set by the caller.
  one_operation(op_code code, int fd, const char* what) noexcept
      : operation(own_kind_, code, fd, &completed), own_kind_{what, &ask_to_end} {}

  [[nodiscard]] static bool await_ready() noexcept { return false; }
  template <frame_promise P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    return begin(link_of(h));
  }
  [[nodiscard]] std::int64_t await_resume() const noexcept { return outcome_; }

 private:
  /// Submits the operation; false if it is done at once.
  [[nodiscard]] bool begin(link frame) noexcept;
  static bool completed(operation& op, worker& w, const completion& c) noexcept;
  static void ask_to_end(wait& x, worker& w) noexcept;

  wait_kind own_kind_;
  std::int64_t outcome_ = 0;
};

}  // namespace heddle

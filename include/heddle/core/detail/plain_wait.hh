// SPDX-License-Identifier: MIT
// A coroutine that waits as a plain frame does: for the operations of heddle/abi.h, which wake a
// heddle_frame, after which the same call is made again. The frame is a part of the awaiter; its
// function makes the call, and hands over to the coroutine when there is an answer. Dumps and
// reports look through it, and through the arms of an `any`, to the coroutine's lines.
#pragma once

#include "heddle/core/context.hh"

namespace heddle {

namespace detail {
/// The kind of all coroutine_frames.
extern const heddle_thread_kind coroutine_kind;
/// The function of a heddle_arm's frame, which wakes the owner of the arm.
heddle_link arm_woken(frame* f, heddle_worker* w);

/// The frame that has this arm; any other frame is given back.
[[nodiscard]] const frame& owner_of_arm(const frame& f) noexcept;
/// The coroutine that waits as this frame; any other link is given back.
[[nodiscard]] link coroutine_behind(link l) noexcept;
}  // namespace detail

/// Base of an awaiter. Thread: the coroutine's color.
class coroutine_frame : heddle_thread {
 public:
  using resume_function = heddle_link (*)(heddle_frame*, heddle_worker*);

  explicit coroutine_frame(resume_function f) noexcept
      : heddle_thread{{f, nullptr, no_link, HEDDLE_AT_THREAD, 0}, &detail::coroutine_kind, 0} {}
  coroutine_frame(const coroutine_frame&) = delete;
  coroutine_frame& operator=(const coroutine_frame&) = delete;

  /// The frame for calls of heddle/abi.h.
  [[nodiscard]] heddle_frame* self() noexcept { return &frame; }
  /// The awaiter of a frame that self() gave.
  [[nodiscard]] static coroutine_frame& of(heddle_frame* f) noexcept {
    return static_cast<coroutine_frame&>(*reinterpret_cast<heddle_thread*>(f));
  }
  /// Notes which coroutine waits: a call has answered HEDDLE_PARKED.
  template <class Promise>
  void park(std::coroutine_handle<Promise> h, worker& w) noexcept {
    owner = link_of(h);
    h.promise().context_low = w.context_now;
    frame.context = w.context_now;
  }
  /// The coroutine, to be returned from the frame's function.
  [[nodiscard]] heddle_link coroutine() const noexcept { return owner; }
};

}  // namespace heddle

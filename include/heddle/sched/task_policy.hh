// SPDX-License-Identifier: MIT
// Which task of a color a worker runs next: a scheduler for tasks (Li and Zdancewic 2007, section
// 4.2). Without a policy, tasks of one color run in the order in which they became ready. Which
// color is next is decided by another policy (sched/policy.hh).
//
//   class urgent_first final : public task_policy {
//     void push(ready_task t) noexcept override { (t.priority() > 0 ? urgent_ : rest_).push(t); }
//     ready_task pop() noexcept override { return urgent_.empty() ? rest_.pop() : urgent_.pop(); }
//     task_list urgent_, rest_;
//   };
//   options.task_policy = [] { return std::make_unique<urgent_first>(); };
//
//   co_await with_priority(session(std::move(conn)), 7);  // core/deadline.hh
//
// A policy orders wake-ups. The end of an awaited task resumes its caller directly, as a return
// does, and no policy is asked.
#pragma once

#include <memory>

#include "heddle/core/context.hh"

namespace heddle {

namespace detail {
class task_order;
}

/// A task that may run; one word. Thread: the worker's that gave it to a policy.
class ready_task {
 public:
  /// No task.
  ready_task() noexcept = default;
  [[nodiscard]] explicit operator bool() const noexcept { return frame_ != no_link; }

  /// The priority of its context, from 0 to 255: with_priority(). 0 if nothing sets it.
  [[nodiscard]] unsigned priority() const noexcept;
  /// The deadline of its context: with_deadline(), with_timeout(); never if there is none.
  [[nodiscard]] time_point deadline() const noexcept;

 private:
  friend class task_list;
  friend class detail::task_order;
  explicit ready_task(link l) noexcept : frame_(l) {}
  [[nodiscard]] const context* context_of() const noexcept;

  link frame_ = no_link;
};

/// First in, first out, through links in the tasks' own frames: it needs no memory.
class task_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return frames_.empty(); }
  void push(ready_task t) noexcept { frames_.push(t.frame_); }
  /// The first one; none if the list is empty.
  [[nodiscard]] ready_task pop() noexcept {
    return frames_.empty() ? ready_task() : ready_task(frames_.pop());
  }

 private:
  ready_queue frames_;
};

/// The order of the tasks of the running color; each worker has its own. When the worker leaves the
/// color, all tasks are taken by pop(), and go on in this order wherever the color runs next.
/// Thread: the worker's. It must not lose a task: pop() gives each that was pushed, once. It must
/// neither throw nor wait; a task_list stores tasks without memory.
class task_policy {
 public:
  task_policy() noexcept = default;
  task_policy(const task_policy&) = delete;
  task_policy& operator=(const task_policy&) = delete;
  virtual ~task_policy() = default;

  /// Adds a task that may run now.
  virtual void push(ready_task t) noexcept = 0;
  /// Takes out the task to run next; an empty one if there is none.
  [[nodiscard]] virtual ready_task pop() noexcept = 0;
};

/// The highest priority first, even if others wait; within a priority first come, first served.
[[nodiscard]] std::unique_ptr<task_policy> priorities();

/// The earliest deadline first, ties in the order of the wake-ups; tasks without a deadline come
/// last. It keeps 24 bytes a ready task; without memory for them, tasks wait behind all others.
[[nodiscard]] std::unique_ptr<task_policy> earliest_task();

}  // namespace heddle

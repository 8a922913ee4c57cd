// SPDX-License-Identifier: MIT
// Moves frames between worker::ready and a task_policy.
#include "sched/task_order.hh"

#include <utility>

#include "heddle/base/error.hh"
#include "heddle/core/detail/plain_wait.hh"

namespace heddle {
namespace detail {
namespace {

/// Whether a frame is a call that came from another color, and no task.
bool is_message(link l) noexcept {
  return is_plain(l) && (owner_of_arm(plain_of(l)).at & HEDDLE_AT_THREAD) == 0;
}

}  // namespace

void task_order::take_front(ready_queue& ready, frame_list& to) noexcept {
  if (!std::exchange(marked_, false)) return;
  for (link l = ready.pop(); l != marker(); l = ready.pop()) to.push(l);
}

void task_order::take(ready_queue& ready, frame_list& first) noexcept {
  while (!ready.empty()) {
    const link l = ready.pop();
    if (is_message(l)) {
      first.push(l);
      continue;
    }
    policy_->push(ready_task(l));
    ++left_;
  }
}

void task_order::pop_all(frame_list& to) noexcept {
  for (ready_task t = policy_->pop(); t; t = policy_->pop(), --left_) to.push(t.frame_);
  HEDDLE_ASSERT(left_ == 0, "a task_policy gives each task back: pop() has lost some");
}

bool task_order::choose(ready_queue& ready) noexcept {
  if (marked_) {
    if (ready.first() != marker()) return true;
    static_cast<void>(ready.pop());
    marked_ = false;
  }
  frame_list messages;
  take(ready, messages);
  if (messages.empty()) {
    const ready_task next = policy_->pop();
    HEDDLE_ASSERT(next || left_ == 0, "a task_policy gives each task back: pop() has lost some");
    if (!next) return false;
    --left_;
    ready.push(next.frame_);
  } else {
    ready.append(messages);
  }
  ready.push(marker());
  marked_ = true;
  return true;
}

void task_order::tidy(ready_queue& ready) noexcept {
  if (!marked_ || left_ != 0 || ready.first() != marker()) return;
  static_cast<void>(ready.pop());
  marked_ = false;
}

void task_order::give_back(ready_queue& ready) noexcept {
  frame_list first;
  take_front(ready, first);
  take(ready, first);
  pop_all(first);
  ready.append(first);
}

void task_order::settle(ready_queue& ready) noexcept {
  if (left_ == 0) return;
  frame_list first, since;
  take_front(ready, first);
  ready.move_to(since);
  first.push(marker());
  marked_ = true;
  pop_all(first);
  ready.append(first);
  ready.append(since);
}

}  // namespace detail

}  // namespace heddle

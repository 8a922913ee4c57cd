// SPDX-License-Identifier: MIT
// The loop of a pump, and its alarm.
#include "net/pump.hh"

#include "heddle/core/yield.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::net::detail {
namespace {

// Stacks begin late enough that times before the first one are still positive.
constexpr tcp::instant first_instant = 1'000'000;
// Turns of the queue from a received segment to its answer: the reader's pull, the reader, one
// function that it calls. If the flush comes after them, the acknowledgement rides on the answer.
constexpr int hops = 3;

}  // namespace

tcp::instant pump::now() noexcept {
  return first_instant +
         std::chrono::duration_cast<std::chrono::microseconds>(clock::now().time_since_epoch())
             .count();
}

void pump::stir() noexcept {
  if (stirred_) return;
  stirred_ = true;
  wake_.notify_one();
}

void pump::alarm::fire(timer_node& t, worker&) noexcept { static_cast<alarm&>(t).owner.stir(); }

void pump::set_alarm() {
  const tcp::instant due = next_due();
  if (due == tcp::never_due) {
    alarm_.disarm();
    return;
  }
  const time_point at{std::chrono::microseconds(due - first_instant)};
  if (alarm_.armed()) {
    if (alarm_.due() == at) return;
    alarm_.disarm();
  }
  worker& w = worker::running();
  if (at <= w.now) {
    stirred_ = true;
  } else {
    w.sched.arm(w, alarm_, at);
  }
}

task<> pump::run_turns() {
  for (;;) {
    if (!stirred_) {
      if (!in_use_ && is_idle()) co_return;
      set_alarm();
      while (!stirred_) co_await wake_.wait();
    }
    for (int i = 0; i != hops; ++i) co_await yield();
    stirred_ = false;
    turn(now());
    turned_.notify_all();
  }
}

task<> pump::run(std::shared_ptr<pump> self) {
  struct end_of {
    pump& p;
    ~end_of() {
      p.running_ = false;
      p.alarm_.disarm();
      p.ended();
      p.turned_.notify_all();
    }
  } const at_end{*self};
  co_await self->run_turns();
}

void pump::begin(std::shared_ptr<pump> p) {
  pump& started = *p;
  runtime::here().spawn(run(std::move(p)));
  started.running_ = true;
}

task<> pump::settled() {
  while (running_ && !is_idle()) co_await turned_.wait();
}

}  // namespace heddle::net::detail

// SPDX-License-Identifier: MIT
// A scheduler for the tasks of one color, in ten lines (Li and Zdancewic, 2007, section 4.2):
// urgent tasks run before all others. A policy gets each task that may run, and is asked for the
// next.
#include <cstdio>
#include <heddle/core/deadline.hh>
#include <heddle/core/yield.hh>
#include <heddle/sched/runtime.hh>

using namespace heddle;

class urgent_first final : public task_policy {
 public:
  void push(ready_task t) noexcept override { (t.priority() > 0 ? urgent_ : rest_).push(t); }
  ready_task pop() noexcept override { return urgent_.empty() ? rest_.pop() : urgent_.pop(); }

 private:
  task_list urgent_, rest_;  // first in, first out, through the tasks' own frames
};

task<> work(char name, int turns) {
  for (int i = 0; i < turns; ++i) {
    std::putchar(name);
    co_await yield();
  }
}

task<> urgent_work() { co_await with_priority(work('u', 6), 1); }

int main() {
  runtime_options options;
  options.workers = 1;
  options.task_policy = [] { return std::make_unique<urgent_first>(); };
  runtime rt(std::move(options));
  rt.spawn(work('r', 4));
  rt.spawn(urgent_work());
  rt.run();
  std::putchar('\n');  // ruuuuuurrr
}

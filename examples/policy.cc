// SPDX-License-Identifier: MIT
// A scheduler of one's own: interactive colors (below 100) go first, but every fourth turn belongs
// to the others, so that nobody starves. A policy is told which colors have work, and asked for the
// next.
#include <cstdio>
#include <heddle/core/yield.hh>
#include <heddle/sched/runtime.hh>

using namespace heddle;

class mostly_interactive final : public policy {
 public:
  void push(ready_color& c) noexcept override {
    (c.number().number < 100 ? interactive_ : background_).push(c);
  }
  ready_color* pop() noexcept override {
    const bool theirs = ++turn_ % 4 == 0;
    color_list& first = theirs ? background_ : interactive_;
    color_list& second = theirs ? interactive_ : background_;
    return first.empty() ? second.pop() : first.pop();
  }

 private:
  color_list interactive_, background_;
  unsigned turn_ = 0;
};

task<> work(char name, int turns) {
  for (int i = 0; i < turns; ++i) {
    std::putchar(name);
    co_await yield();
  }
}

int main() {
  runtime_options options;
  options.workers = 1;
  options.color_batch = 1;  // one step a turn, so that the order shows
  options.policy = [] { return std::make_unique<mostly_interactive>(); };
  runtime rt(std::move(options));
  rt.spawn(color(100), work('b', 6));
  rt.spawn(color(1), work('i', 12));
  rt.run();
  std::putchar('\n');  // iiibiiibiiibiiibbb, or nearly so
}

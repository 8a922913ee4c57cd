// SPDX-License-Identifier: MIT
// The price of a task policy for a resume: `core/resume_N/POLICY` has N tasks that only yield, on
// one color. `none` is a runtime without a policy; `fifo` gives the same order by a policy.
#include <benchmark/benchmark.h>

#include "heddle/heddle.hh"

namespace {

using namespace heddle;

constexpr int resumes = 1 << 18;

class fifo_tasks final : public task_policy {
 public:
  void push(ready_task t) noexcept override { all_.push(t); }
  ready_task pop() noexcept override { return all_.pop(); }

 private:
  task_list all_;
};

task<> yields(int times) {
  for (int i = 0; i < times; ++i) co_await yield();
}

task<> program(int tasks) {
  scope s;
  for (int i = 0; i < tasks; ++i) s.spawn(yields(resumes / tasks));
  co_await s.join();
}

void resume(benchmark::State& state, std::unique_ptr<task_policy> (*make)()) {
  runtime_options options;
  options.workers = 1;
  options.driver = "epoll";
  if (make != nullptr) options.task_policy = make;
  runtime rt(options);
  for (auto _ : state) rt.run(program(static_cast<int>(state.range(0))));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * resumes);
}

std::unique_ptr<task_policy> fifo() { return std::make_unique<fifo_tasks>(); }

#define RESUMES(N)                                                                                 \
  BENCHMARK_CAPTURE(resume, none_##N, nullptr)->Name("core/resume_" #N "/none")->Arg(N);           \
  BENCHMARK_CAPTURE(resume, fifo_##N, &fifo)->Name("core/resume_" #N "/fifo")->Arg(N);             \
  BENCHMARK_CAPTURE(resume, prio_##N, &priorities)->Name("core/resume_" #N "/priorities")->Arg(N); \
  BENCHMARK_CAPTURE(resume, edf_##N, &earliest_task)->Name("core/resume_" #N "/earliest")->Arg(N)
RESUMES(1);
RESUMES(64);
RESUMES(1024);

}  // namespace

BENCHMARK_MAIN();

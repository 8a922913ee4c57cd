// SPDX-License-Identifier: MIT
// The loop: ready frames in batches, then completions and timers, then sleep. A turn that has ready
// work makes no system call; the clock is read once a batch, and I/O is looked at by time, not by
// count.
#include "heddle/sched/runtime.hh"

#include <sys/stat.h>

#include <csignal>
#include <cstdio>

namespace heddle {

runtime::runtime(runtime_options options)
    : options_(std::move(options)),
      region_(options_.memory_bytes),
      driver_(make_driver(options_.driver, options_.io)),
      wheel_(driver_->now()) {
  setup();
}

runtime::runtime(std::unique_ptr<class driver> io, runtime_options options)
    : options_(std::move(options)),
      region_(options_.memory_bytes),
      driver_(std::move(io)),
      wheel_(driver_->now()) {
  setup();
}

void runtime::setup() {
  if (options_.ignore_sigpipe) std::signal(SIGPIPE, SIG_IGN);
  worker_ = std::make_unique<worker>(region_, *this);
  worker_->now = driver_->now();
  worker_->on_double_trigger = options_.on_double_trigger;
  worker_->on_leftovers = options_.on_leftovers;
  outer_worker_ = std::exchange(heddle_current_worker, worker_.get());
  root_ = std::make_unique<scope>(*worker_, scope::kind::root);
  worker_->root_context_low = root_->context_of_tasks().low();
  worker_->context_low = worker_->root_context_low;
}

runtime::~runtime() {
  const std::size_t left = drain();
  preblock_.clear();
  posted_.clear();
  worker& w = *worker_;
  w.memory.collect_remote();
  if (left == 0) root_.reset();
  const std::size_t cells = w.memory.live() - (left == 0 ? 0 : 1);
  if (cells != 0 || left != 0) {
    report({diagnostic_kind::leaked_memory, 0, 0, cells, {}, {}});
    region_.abandon();  // what still points into it must not fault
    if (left != 0) static_cast<void>(root_.release());
  }
  detail::free_guards(w);
  driver_.reset();
  heddle_current_worker = outer_worker_;
}

runtime& runtime::here() { return static_cast<runtime&>(worker::here().sched); }

std::coroutine_handle<> runtime::program_ended(join& j, worker&) noexcept {
  j.waiter = std::noop_coroutine();  // seen by run_program
  return {};
}

// GCC before 12.3 compiles such a coroutine to nothing (its bug 106188): it starts and never ends.
#if defined(__GNUC__) && !defined(__clang__) && \
    (__GNUC__ < 12 || (__GNUC__ == 12 && __GNUC_MINOR__ < 3))
#define HEDDLE_LOST_TASK_HINT                                                           \
  "; with this compiler a coroutine that awaits in a condition needs a local variable " \
  "(docs/guide/compilers.md)"
#else
#define HEDDLE_LOST_TASK_HINT ""
#endif

void runtime::run_program(join& kept) {
  while (!kept.waiter) {
    if (turn(true)) continue;
    if (kept.waiter) break;
    // Nothing can wake the program any more: it must not be left with a pointer to our stack.
    const std::string where = dump();
    root_->context_of_tasks().cancel(*worker_);
    while (!kept.waiter && turn(true)) {
    }
    HEDDLE_ASSERT(kept.waiter, "a task can neither go on nor be cancelled" HEDDLE_LOST_TASK_HINT);
    throw failure(std::make_error_code(std::errc::resource_deadlock_would_occur),
                  "the program waits for something that nobody will do\n" + where);
  }
  if (kept.error) std::rethrow_exception(std::exchange(kept.error, nullptr));
}

void runtime::run() {
  while (!stop_.exchange(false) && turn(true)) {
  }
}

bool runtime::once() {
  const std::uint64_t before = worker_->frames_run;
  turn(false);
  return worker_->frames_run != before;
}

void runtime::stop() noexcept {
  stop_.store(true);
  driver_->wake();
}

std::size_t runtime::drain() {
  worker& w = *worker_;
  root_->context_of_tasks().cancel(w);
  for (frame* f : std::vector<frame*>(plain_frames_.begin(), plain_frames_.end())) {
    f->at |= HEDDLE_AT_CANCELED;
    if ((f->at & HEDDLE_AT_QUEUED) != 0) continue;
    f->at |= HEDDLE_AT_QUEUED;
    w.post(link_of(*f));
  }
  const time_point end = add_saturated(driver_->now(), options_.drain_timeout);
  struct alarm : timer_node {
    alarm() noexcept : timer_node([](timer_node&, worker&) noexcept {}) {}
  } bound;
  arm(w, bound, end);  // so that a sleep ends there
  while (root_->live() != 0 || !w.ready.empty() || driver_->pending() > 0) {
    if (w.now >= end) break;
    if (!turn(true)) break;
  }
  return root_->live();
}

namespace {

/// Whether the process has another thread. Asked only before a program is given up.
bool other_threads() noexcept {
  struct stat tasks{};
  // A directory has two links and one more for each directory in it: here, for each thread.
  return ::stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > 3;
}

}  // namespace

bool runtime::anything_outside() noexcept {
  return driver_->pending() > static_cast<std::size_t>(background_) || has_posted_.load() ||
         (foreign_ > 0 && other_threads());
}

bool runtime::turn(bool may_sleep) {
  worker& w = *worker_;
  if (!w.ready.empty()) {
    w.run_ready(options_.batch);
    w.now = driver_->now();
    const bool idle = w.ready.empty();
    if (!idle && w.now - polled_at_ < options_.poll_interval) return true;
    if (idle && may_sleep) return true;  // the next turn looks at I/O and may sleep
  }
  if (has_posted_.load(std::memory_order_acquire)) run_posted();
  if (w.ready.empty() && !preblock_.empty()) {
    std::vector<event<>> ripe = std::exchange(preblock_, {});
    for (event<>& e : ripe) e.trigger();
  }
  time_point until = time_point::min();
  if (may_sleep && w.ready.empty()) {
    until = wheel_.next_due();
    if (until == never && !anything_outside()) return false;
  }
  driver_->turn(w, until);
  if (until == never && driver_->stalled() && !has_posted_.load()) return false;
  w.now = polled_at_ = driver_->now();
  wheel_.expire(w.now, w);
  if (has_posted_.load(std::memory_order_acquire)) run_posted();
  w.memory.collect_remote();
  return may_sleep || !w.ready.empty();
}

void runtime::post(std::move_only_function<void()> f) {
  {
    const std::lock_guard hold(posted_lock_);
    posted_.push_back(std::move(f));
    // release: pairs with the acquire in turn()
    has_posted_.store(true, std::memory_order_release);
  }
  driver_->wake();
}

void runtime::run_posted() {
  std::vector<std::move_only_function<void()>> calls;
  {
    const std::lock_guard hold(posted_lock_);
    calls.swap(posted_);
    has_posted_.store(false, std::memory_order_relaxed);
  }
  worker& w = *worker_;
  const std::uint32_t outer = std::exchange(w.context_low, w.root_context_low);
  for (auto& call : calls) call();
  w.context_low = outer;
}

std::vector<suspended_task> runtime::suspended() {
  std::vector<suspended_task> tasks = suspended_tasks(*worker_, root_->context_of_tasks());
  for (const frame* f : plain_frames_) tasks.push_back(suspended_plain(*f, wait_tables_));
  return tasks;
}

std::string runtime::dump() { return dump_text(suspended()); }

std::string runtime::dump_json() { return heddle::dump_json(suspended()); }

void runtime::arm(worker&, timer_node& node, time_point due) noexcept { wheel_.arm(node, due); }

void runtime::report(const diagnostic& d) noexcept {
  try {
    if (options_.report) {
      options_.report(d);
    } else {
      std::fprintf(stderr, "%s\n", to_string(d).c_str());
    }
  } catch (...) {
    std::fputs("heddle: a report hook threw; the report is lost\n", stderr);
  }
  const bool fatal =
      (d.kind == diagnostic_kind::double_trigger &&
       options_.on_double_trigger == strictness::abort) ||
      (d.kind == diagnostic_kind::leftover_events && options_.on_leftovers == strictness::abort);
  HEDDLE_ASSERT(!fatal, "the report above was configured to end the program");
}

void runtime::adopt(frame& f) {
  plain_frames_.insert(&f);
  root_->enter();
}

void runtime::release(frame& f) noexcept {
  plain_frames_.erase(&f);
  root_->leave_later(*worker_);
}

}  // namespace heddle

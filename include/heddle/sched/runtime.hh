// SPDX-License-Identifier: MIT
// The runtime: a worker, its timers, a driver, and the root scope. main builds one and hands it
// down.
//
//   task<int> program();
//   int main() { heddle::runtime rt; return rt.run(program()); }
//
// One worker for now; colors are accepted everywhere and kept with each task.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "heddle/core/dump.hh"
#include "heddle/core/event.hh"
#include "heddle/core/scope.hh"
#include "heddle/sched/driver.hh"
#include "heddle/sched/timer_wheel.hh"

namespace heddle {

/// Every limit has a default that is safe on a small machine.
struct runtime_options {
  std::string driver;  ///< empty: HEDDLE_DRIVER, else the best that works
  driver_options io = {};
  std::size_t memory_bytes = std::size_t{64} << 30;      ///< address space for frames; not memory
  nanoseconds drain_timeout = std::chrono::seconds(10);  ///< how long shutdown waits for tasks
  std::size_t batch = 256;                               ///< frames between two looks at the clock
  nanoseconds poll_interval = std::chrono::microseconds(200);  ///< I/O is looked at this often
  bool ignore_sigpipe = true;
  strictness on_double_trigger = strictness::off;
  strictness on_leftovers = strictness::off;
  /// Gets every diagnostic; empty: one block of text on stderr.
  std::function<void(const diagnostic&)> report = {};
};

/// Thread: the one that built it, except where a member says otherwise. It becomes that thread's
/// current runtime until it is destroyed; an inner one hides an outer one. Owns: every frame and
/// event; the destructor cancels the root scope and waits until it is empty.
class runtime final : public scheduler {
 public:
  explicit runtime(runtime_options options = {});
  explicit runtime(std::unique_ptr<class driver> io, runtime_options options = {});
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  ~runtime();

  /// Runs until this task has ended; gives its value or rethrows. Other tasks go on at the next
  /// run. Throws failure(resource_deadlock_would_occur), with a dump, when it can never end.
  template <class T>
  T run(task<T> program) {
    join_of<T> kept(&program_ended);
    start_program(program.release(), kept);
    run_program(kept);
    return kept.take();
  }
  /// Runs until nothing is left that could wake anything (rule D1), or stop().
  void run();
  /// One turn: what is ready, timers that are due, completions that are there. Does not sleep.
  /// Returns whether anything ran.
  bool once();
  /// Makes run() return after the current turn. Thread: any; async-signal-safe.
  void stop() noexcept;
  /// Cancels the root scope and runs until it is empty, at most drain_timeout. Returns the number
  /// of tasks that are left.
  std::size_t drain();

  template <class T>
  void spawn(task<T> t) {
    root_->spawn(std::move(t));
  }
  void spawn(color c, task<> t) { root_->spawn(c, std::move(t)); }
  /// Calls f in the worker soon. Thread: any.
  void post(std::move_only_function<void()> f);
  /// Fires the event before the worker may sleep (rule D6).
  void preblock(event<> e) { preblock_.push_back(std::move(e)); }
  /// When the next timer is due; never if none.
  [[nodiscard]] time_point next_wake() noexcept { return wheel_.next_due(); }

  [[nodiscard]] static runtime& here();
  [[nodiscard]] class driver& io() noexcept { return *driver_; }
  [[nodiscard]] worker& main_worker() noexcept { return *worker_; }
  [[nodiscard]] scope& root() noexcept override { return *root_; }
  [[nodiscard]] const runtime_options& options() const noexcept { return options_; }

  /// Where everything waits.
  [[nodiscard]] std::string dump();
  [[nodiscard]] std::string dump_json();
  [[nodiscard]] std::vector<suspended_task> suspended();

  /// An operation or timer that does not keep run() going (signals that are only listened to).
  void add_background(int change) noexcept { background_ += change; }
  /// A wait that another thread may end: as long as there is another thread, it keeps run() going.
  void add_foreign(int change) noexcept { foreign_ += change; }

  // What the core asks.
  void arm(worker& w, timer_node& node, time_point due) noexcept override;
  [[nodiscard]] time_point read_clock() noexcept override { return driver_->now(); }
  void report(const diagnostic& d) noexcept override;

  // Plain frames (abi.h).
  void adopt(frame& f);
  void release(frame& f) noexcept;

 private:
  friend struct abi_calls;

  static std::coroutine_handle<> program_ended(join& j, worker& w) noexcept;
  template <class P>
  void start_program(std::coroutine_handle<P> h, join& kept) {
    h.promise().set_parent(kept);
    h.promise().context_low = root_->context_of_tasks().low();
    worker_->post(link_of(h));
  }
  void run_program(join& kept);
  void setup();
  /// Runs what is ready, then lets the driver and the timers make more; sleeps only if `may_sleep`.
  /// False when nothing is ready and nothing will ever come.
  bool turn(bool may_sleep);
  void run_posted();
  [[nodiscard]] bool anything_outside() noexcept;

  runtime_options options_;
  region region_;
  std::unique_ptr<class driver> driver_;
  worker* outer_worker_ = nullptr;
  std::unique_ptr<worker> worker_;
  timer_wheel wheel_;
  std::unique_ptr<scope> root_;
  time_point polled_at_{};
  std::atomic<bool> stop_{false};
  std::atomic<bool> has_posted_{false};
  std::mutex posted_lock_;
  std::vector<std::move_only_function<void()>> posted_;
  std::vector<event<>> preblock_;
  std::unordered_set<frame*> plain_frames_;
  std::vector<wait_table> wait_tables_;
  long background_ = 0;
  long foreign_ = 0;
};

}  // namespace heddle

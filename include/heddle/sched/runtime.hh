// SPDX-License-Identifier: MIT
// The runtime: workers, each with its timers and its driver, the table of colors, and the root
// scopes. main builds one and hands it down.
//
//   task<int> program();
//   int main() { heddle::runtime rt; return rt.run(program()); }       // color 0
//
// One number puts every core to work: runtime_options::workers, or HEDDLE_WORKERS in the
// environment. A color runs on one worker at a time, and moves to another when that one has nothing
// to do; code that names no color is in color 0 and runs as on one thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "heddle/core/dump.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/event.hh"
#include "heddle/core/scope.hh"
#include "heddle/sched/detail/timer_wheel.hh"
#include "heddle/sched/driver.hh"
#include "heddle/sched/runtime_options.hh"
#include "heddle/sched/statistics.hh"

namespace heddle {

struct runtime_parts;

/// Thread: the one that built it, except where a member says otherwise. It becomes that thread's
/// current runtime until it is destroyed. A runtime that is built later on the same thread hides an
/// earlier one until it is destroyed, so runtimes of one thread are destroyed in the opposite order
/// of their construction. Other workers' threads run only inside run() and drain(): in between, the
/// builder's thread is color 0 and alone. A task or a posted call may not run, drain or destroy its
/// own runtime. Each broken rule ends the program with a message that names the rule.
/// Owns: every frame and event; the destructor drains the runtime.
class runtime final : public scheduler, public completion_router {
 public:
  explicit runtime(runtime_options options = runtime_options());
  /// Uses this driver. With several workers, each gets a driver like it (driver::for_worker); if it
  /// is simulated, all workers share it.
  explicit runtime(std::unique_ptr<class driver> io, runtime_options options = runtime_options());
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  ~runtime();

  /// Runs until this task, in color 0, has ended; gives its value or rethrows. Other tasks go on at
  /// the next run. Throws failure(resource_deadlock_would_occur), with a dump, if the task can
  /// never end; before that all tasks are cancelled. Another program can run afterwards. Throws
  /// failure(operation_canceled) if tasks that were cancelled before still have not ended.
  template <class T>
  T run(task<T> program) {
    begin_program();
    join_of<T> kept(&program_ended);
    start_program(program.release(), kept);
    run_program(kept);
    return kept.take();
  }
  /// As above, for a function without parameters that makes such a task; the function may capture.
  template <class F>
    requires detail::is_task<std::invoke_result_t<F&>>
  auto run(F program) {
    return run(detail::call_and_give(std::move(program)));
  }
  /// Runs until nothing is left that could wake anything (rule D1), or stop().
  [[gnu::noinline]] void run();
  /// Makes one turn of the first worker: ready frames, timers that are due, completions that are
  /// there. Does not sleep, and does not run the other workers. Returns whether anything ran.
  [[gnu::noinline]] bool once();
  /// Makes run() return after the current turn; without one, makes the next run() return at once.
  /// Thread: any; async-signal-safe.
  void stop() noexcept;
  /// Cancels the root scopes and runs until they are empty, at most drain_timeout. Calls that were
  /// posted before that run too. Returns the number of tasks that are left; if there are none, the
  /// runtime can be used again.
  [[gnu::noinline]] std::size_t drain();

  /// Spawns into the root scope of the running color, or of the color that is named. Thread: any
  /// worker's.
  template <class T>
  void spawn(task<T> t) {
    root().spawn(std::move(t));
  }
  template <class T>
  void spawn(color c, task<T> t) {
    root().spawn(c, std::move(t));
  }
  /// Spawns the task of a function, which is kept with its captures while the task runs.
  template <class F>
    requires std::invocable<F&>
  void spawn(F f) {
    root().spawn(std::move(f));
  }
  /// Calls f in this color soon, in the order of one thread's posts to it. f must not throw.
  /// While runtime_options::posted_max such calls wait, a thread that is no worker waits for room
  /// here; on a worker failure(resource_unavailable_try_again) is thrown.
  /// Thread: any, while the runtime lives.
  void post(color c, std::move_only_function<void()> f);
  /// As above, in color 0.
  void post(std::move_only_function<void()> f) { post(color(0), std::move(f)); }
  /// As post(), but never waits: false if there is no room; then f was not taken. Thread: any.
  [[nodiscard]] bool try_post(color c, std::move_only_function<void()>& f);
  /// Triggers an event in its color soon; bounded as post() is. A thread that is no worker gives
  /// its handle away here, because it may neither copy nor drop one. Thread: any.
  template <class... Ts, class... Us>
    requires(sizeof...(Us) == sizeof...(Ts))
  void trigger(event<Ts...> e, Us&&... values) {
    if (e.record() == nullptr) return;
    const std::uint32_t place = e.record()->color;
    post_at(place,
            [e = std::move(e), kept = std::tuple<Ts...>(std::forward<Us>(values)...)]() mutable {
              std::apply([&](Ts&... v) { e.trigger(std::move(v)...); }, kept);
            });
  }
  /// Fires the event before this worker may sleep (rule D6). Thread: any worker's.
  void preblock(event<> e);
  /// When the first worker's next timer is due; never if none.
  [[nodiscard]] time_point next_wake() noexcept;

  /// The runtime of the worker that runs on this thread.
  [[nodiscard]] static runtime& here();
  /// The driver of the worker that runs this thread; elsewhere the first worker's.
  [[nodiscard]] class driver& io() noexcept;
  [[nodiscard]] class driver& driver_at(std::size_t worker) noexcept;
  [[nodiscard]] worker& main_worker() noexcept;
  [[nodiscard]] std::size_t workers() const noexcept;
  [[nodiscard]] scope& root() noexcept override;
  [[nodiscard]] const runtime_options& options() const noexcept { return options_; }
  /// Changes take effect at once. Thread: any.
  [[nodiscard]] diagnostic_switches& diagnostics() noexcept { return diagnostics_; }

  /// Tells where all tasks wait. Several workers stop for it between two frames. A worker that does
  /// not stop within a quarter of a second appears with the line that it runs, and the other tasks
  /// of its color are left out. The result is empty when the program ends meanwhile.
  [[nodiscard]] std::string dump();
  [[nodiscard]] std::string dump_json();
  [[nodiscard]] std::vector<suspended_task> suspended();
  /// Counts of each worker, and of each color that ever ran. read_colors() stops the
  /// other workers, however long that takes.
  [[nodiscard]] std::vector<worker_statistics> read_workers();
  [[nodiscard]] std::vector<color_statistics> read_colors();

  /// Counts an operation or timer that does not keep run() going (signals that are only listened
  /// to).
  void add_background(int change) noexcept;
  /// Counts a wait that another thread may end: it keeps run() going as long as the process has a
  /// thread that is none of the runtime's own. Thread: for a negative change, a worker's; others
  /// use outside_work.
  void add_foreign(int change) noexcept;

  // Called by the core.
  void arm(worker& w, timer_node& node, time_point due) noexcept override;
  void arm_after(worker& w, timer_node& node, nanoseconds span) noexcept override;
  void disarm_shared(timer_node& node) noexcept override;
  void post(worker& w, std::uint32_t place, link l) noexcept override;
  [[nodiscard]] time_point read_clock() noexcept override { return io().now(); }
  void report(const diagnostic& d) noexcept override;

  // Called by drivers, and by owners of operations.
  /// Brings a completion to the operation's color: at once when this worker can hold it, else as a
  /// message. Returns what the operation's function returned, as far as it is known. Thread: the
  /// worker's.
  bool complete(operation& op, worker& w, const completion& c) noexcept override;
  /// Asks the driver of a pending operation to end it. Thread: the operation's color.
  void cancel(operation& op, worker& w) noexcept;
  /// Whether colors run now, so that a message to one is carried out soon: other workers may run,
  /// or a frame does. False before run(), after it, and between two turns of a single worker.
  [[nodiscard]] bool runs_colors() const noexcept;

  // Plain frames (abi.h).
  void adopt(frame& f);
  void release(frame& f) noexcept;
  void describe(wait_table table);

 private:
  friend class outside_work;
  class run_guard;
  class end_of_tasks;

  static std::coroutine_handle<> program_ended(join& j, worker& w) noexcept;
  template <class P>
  void start_program(std::coroutine_handle<P> h, join& kept) {
    h.promise().set_parent(kept);
    h.promise().context_low = main_worker().root_context;
    main_worker().post(link_of(h));
  }
  [[gnu::noinline]] void begin_program();
  [[gnu::noinline]] void run_program(join& kept);
  void setup(const driver_factory& make);
  void cancel_roots();
  [[nodiscard]] std::size_t reopen_roots();
  void check_use(const char* what) const noexcept;
  void post_at(std::uint32_t place, std::move_only_function<void()> f);
  void look_again() noexcept;

  runtime_options options_;
  diagnostic_switches diagnostics_;
  region region_;
  std::unique_ptr<runtime_parts> parts_;
  worker* outer_worker_ = nullptr;
  std::atomic<const join*> ended_{nullptr};
  std::atomic<bool> stop_{false};
  bool turns_ = false;           ///< inside run(), once() or drain()
  bool roots_canceled_ = false;  ///< a color has cancelled tasks that have not all ended
  std::mutex report_lock_;
};

/// Work that another thread will do for this runtime. As long as one is kept and the process has a
/// thread that is none of the runtime's own, a program that waits for nothing else is not given up.
/// Move it into the call that is posted:
///
///   std::jthread([&rt, work = outside_work(rt), done = as_function(mkevent(x))]() mutable {
///     rt.post([work = std::move(work), done = std::move(done), x = compute()]() mutable { done(x);
///     });
///   });
///
/// Thread: any, while the runtime lives.
class [[nodiscard("the program is given up when it goes")]] outside_work {
 public:
  explicit outside_work(runtime& rt = runtime::here()) noexcept : rt_(&rt) { rt.add_foreign(1); }
  outside_work(outside_work&& other) noexcept : rt_(std::exchange(other.rt_, nullptr)) {}
  outside_work& operator=(outside_work other) noexcept {
    std::swap(rt_, other.rt_);
    return *this;
  }
  ~outside_work() {
    if (rt_ == nullptr) return;
    rt_->add_foreign(-1);
    rt_->look_again();  // the first worker checks whether anything can still come
  }

 private:
  runtime* rt_;
};

}  // namespace heddle

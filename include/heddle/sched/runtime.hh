// SPDX-License-Identifier: MIT
// The runtime: workers, each with its timers and its driver, the table of colors, and the root
// scopes. main builds one and hands it down.
//
//   task<int> program();
//   int main() { heddle::runtime rt; return rt.run(program()); }       // color 0
//
// One number puts every core to work: runtime_options::workers, or HEDDLE_WORKERS in the
// environment. A color runs on one worker at a time, and moves to another when that one has nothing
// to do; what never names a color is in color 0 and runs as on one thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "heddle/core/dump.hh"
#include "heddle/core/enter.hh"
#include "heddle/core/event.hh"
#include "heddle/core/scope.hh"
#include "heddle/sched/driver.hh"
#include "heddle/sched/policy.hh"
#include "heddle/sched/statistics.hh"
#include "heddle/sched/timer_wheel.hh"

namespace heddle {

struct color_record;
class color_table;
class world_pause;

/// Every limit has a default that is safe on a small machine.
struct runtime_options {
  std::string driver;  ///< empty: HEDDLE_DRIVER, else the best that works
  driver_options io = {};
  std::size_t memory_bytes = std::size_t{64} << 30;      ///< address space for frames; not memory
  nanoseconds drain_timeout = std::chrono::seconds(10);  ///< how long shutdown waits for tasks
  std::size_t batch = 256;                               ///< frames between two looks at the clock
  nanoseconds poll_interval = std::chrono::microseconds(200);  ///< I/O is looked at this often
  bool ignore_sigpipe = true;
  /// What is off, reported or the end of the program; HEDDLE_DIAGNOSTICS changes it
  /// ("double-trigger=report,abandoned-event=abort"), and runtime::diagnostics() later.
  diagnostic_switches diagnostics = {};
  /// Gets every diagnostic; empty: one block of text on stderr. With several workers it may be
  /// called on any of them, one call at a time.
  std::function<void(const diagnostic&)> report = {};

  // Workers and colors.
  unsigned workers =
      0;  ///< threads that run frames; 0: HEDDLE_WORKERS, and without it one; at most
          ///< 64. The simulation runs all of them on one thread, in a seeded order
  std::size_t color_batch = 16;        ///< frames of one color while other colors wait
  std::uint32_t color_places = 65536;  ///< in the table of colors; at most this
  std::function<std::unique_ptr<class policy>()> policy = {};  ///< one for each worker; empty: FIFO
  bool stealing = true;  ///< a worker with nothing to do takes colors from one that has more
  nanoseconds steal_after = std::chrono::microseconds(20);  ///< a color that waits alone behind one
                                                            ///< that runs is left there so long
  nanoseconds spin =
      std::chrono::microseconds(20);  ///< before a worker sleeps, if that paid lately
  bool watch = false;                 ///< keep time for each color: two looks at the clock a turn
  /// A frame that runs longer than this is reported (slow-handler), at most once a second for each
  /// line; zero: never. It costs a look at the clock before and after each frame.
  nanoseconds slow_handler{};
};

/// Thread: the one that built it, except where a member says otherwise. It becomes that thread's
/// current runtime until it is destroyed; an inner one hides an outer one. Other workers' threads
/// run only inside run() and drain(): in between, the builder's thread is color 0 and alone. Owns:
/// every frame and event; the destructor cancels the root scopes and waits until they are empty.
class runtime final : public scheduler, public completion_router {
 public:
  explicit runtime(runtime_options options = {});
  explicit runtime(std::unique_ptr<class driver> io, runtime_options options = {});
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  ~runtime();

  /// Runs until this task, in color 0, has ended; gives its value or rethrows. Other tasks go on at
  /// the next run. Throws failure(resource_deadlock_would_occur), with a dump, when it can never
  /// end.
  template <class T>
  T run(task<T> program) {
    join_of<T> kept(&program_ended);
    start_program(program.release(), kept);
    run_program(kept);
    return kept.take();
  }
  /// Runs until nothing is left that could wake anything (rule D1), or stop().
  void run();
  /// One turn of the first worker: what is ready, timers that are due, completions that are there.
  /// Does not sleep, and does not run the other workers. Returns whether anything ran.
  bool once();
  /// Makes run() return after the current turn. Thread: any; async-signal-safe.
  void stop() noexcept;
  /// Cancels the root scopes and runs until they are empty, at most drain_timeout. Returns the
  /// number of tasks that are left.
  std::size_t drain();

  /// Into the root scope of the running color, or of the color that is named. Thread: any worker's.
  template <class T>
  void spawn(task<T> t) {
    root().spawn(std::move(t));
  }
  template <class T>
  void spawn(color c, task<T> t) {
    root().spawn(c, std::move(t));
  }
  /// Calls f in color 0 soon. Thread: any.
  void post(std::move_only_function<void()> f);
  /// Fires the event before this worker may sleep (rule D6). Thread: any worker's.
  void preblock(event<> e);
  /// When the first worker's next timer is due; never if none.
  [[nodiscard]] time_point next_wake() noexcept;

  /// Of the worker that runs this thread.
  [[nodiscard]] static runtime& here();
  /// The driver of the worker that runs this thread; elsewhere the first worker's.
  [[nodiscard]] class driver& io() noexcept;
  [[nodiscard]] class driver& driver_at(std::size_t worker) noexcept;
  [[nodiscard]] worker& main_worker() noexcept;
  [[nodiscard]] std::size_t workers() const noexcept { return seats_.size(); }
  [[nodiscard]] scope& root() noexcept override;
  [[nodiscard]] const runtime_options& options() const noexcept { return options_; }
  /// Changes take effect at once. Thread: any.
  [[nodiscard]] diagnostic_switches& diagnostics() noexcept { return diagnostics_; }

  /// Where everything waits. With several workers, the others stand still meanwhile, and who asks
  /// while the program ends is told of nothing.
  [[nodiscard]] std::string dump();
  [[nodiscard]] std::string dump_json();
  [[nodiscard]] std::vector<suspended_task> suspended();
  /// What each worker, and each color that ever ran, did so far. For the colors the other workers
  /// stand still too.
  [[nodiscard]] std::vector<worker_statistics> read_workers();
  [[nodiscard]] std::vector<color_statistics> read_colors();

  /// An operation or timer that does not keep run() going (signals that are only listened to).
  void add_background(int change) noexcept { background_.fetch_add(change); }
  /// A wait that another thread may end: as long as there is another thread, it keeps run() going.
  void add_foreign(int change) noexcept { foreign_.fetch_add(change); }

  // What the core asks.
  void arm(worker& w, timer_node& node, time_point due) noexcept override;
  void disarm_shared(timer_node& node) noexcept override;
  void post(worker& w, std::uint32_t place, link l) noexcept override;
  [[nodiscard]] time_point read_clock() noexcept override { return io().now(); }
  void report(const diagnostic& d) noexcept override;

  // What drivers ask, and those who have operations with them.
  /// Brings a completion to the operation's color: at once when this worker can hold it, else as a
  /// message. Gives what the operation's function said, as far as it is known. Thread: the
  /// worker's.
  bool complete(operation& op, worker& w, const completion& c) noexcept override;
  /// Asks the driver that has it to end a pending operation. Thread: the operation's color.
  void cancel(operation& op, worker& w) noexcept;

  // Plain frames (abi.h).
  void adopt(frame& f);
  void release(frame& f) noexcept;

 private:
  friend struct abi_calls;
  friend class world_pause;
  struct seat;
  struct mail;
  struct timer_message;

  static std::coroutine_handle<> program_ended(join& j, worker& w) noexcept;
  template <class P>
  void start_program(std::coroutine_handle<P> h, join& kept) {
    h.promise().set_parent(kept);
    h.promise().context_low = main_worker().root_context;
    main_worker().post(link_of(h));
  }
  void run_program(join& kept);
  void setup(std::unique_ptr<class driver> first);
  [[nodiscard]] std::size_t cancel_roots();

  // Turns (runtime.cc, workers.cc).
  /// Runs what is ready, then lets the driver and the timers make more; sleeps only if `may_sleep`.
  /// False when nothing is ready and nothing will ever come.
  bool turn(bool may_sleep);
  bool turn_alone(seat& s, bool may_sleep);
  bool turn_shared(seat& s, bool may_sleep);
  bool turn_simulated(bool may_sleep);
  void run_posted();
  void run_preblock(seat& s);
  [[nodiscard]] bool anything_outside(seat& s) noexcept;
  void expire(seat& s) noexcept;

  // Colors (colors.cc).
  [[nodiscard]] seat& seat_of(const worker& w) noexcept;
  [[gnu::noinline]] void arm_shared(seat& s, timer_node& node, time_point due) noexcept;
  void enter_color(seat& s, color_record& r) noexcept;
  void leave_color(seat& s) noexcept;
  [[nodiscard]] bool enter_for(seat& s, std::uint32_t place) noexcept;
  void make_root(seat& s, color_record& r) noexcept;
  bool run_colors(seat& s, std::size_t limit) noexcept;
  template <bool noted>
  std::size_t run_frames(seat& s, std::size_t limit) noexcept;
  std::size_t run_watched(seat& s, std::size_t limit) noexcept;
  void report_slow(seat& s, std::span<const site> stack, nanoseconds took) noexcept;
  void queue_color(seat& s, color_record& r, link first) noexcept;
  void count_root(color_record& r) noexcept;
  void fire_timer(timer_node& node, worker& w) noexcept;

  // Workers (workers.cc).
  [[nodiscard]] color_record* next_color(seat& s) noexcept;
  [[nodiscard]] color_record* steal(seat& s) noexcept;
  void push_color(seat& from, seat& to, color_record& r) noexcept;
  void wake_one(seat& from) noexcept;
  template <class F>
  void while_all_stand_still(F&& look);
  [[nodiscard]] std::vector<suspended_task> walk_all();
  [[nodiscard]] color_statistics statistics_of(const color_record& r) const;
  [[nodiscard]] bool park(seat& s, bool hopeless, bool looks_again) noexcept;
  void unpark(seat& s) noexcept;
  [[nodiscard]] bool spin_for_work(seat& s) noexcept;
  [[nodiscard]] static std::uint64_t sleep_of(seat& s) noexcept;
  [[nodiscard]] bool rest_for_good(std::size_t from) const noexcept;
  void send_mail(seat& to, mail& m) noexcept;
  void read_mail(seat& s) noexcept;
  void run_worker(seat& s) noexcept;
  void begin_world();
  void stop_speaking() noexcept;
  void end_world() noexcept;
  void stand_still(seat& s) noexcept;

  runtime_options options_;
  diagnostic_switches diagnostics_;
  region region_;
  std::unique_ptr<color_table> colors_;
  std::vector<std::unique_ptr<seat>> seats_;
  worker* outer_worker_ = nullptr;
  bool shared_ = false;     ///< several workers: records are held as color_table.hh says
  bool simulated_ = false;  ///< all of them on one thread
  bool noted_ = false;      ///< turns are timed, watched, or in a policy's order
  bool draining_ = false;
  bool in_world_ = false;
  std::uint64_t draw_ = 0;  ///< state of the simulated order
  std::atomic<color_record*> used_{nullptr};
  std::atomic<long> live_roots_{0};
  std::atomic<const join*> ended_{nullptr};
  std::atomic<bool> stop_{false};
  std::atomic<bool> has_posted_{false};
  std::mutex posted_lock_;
  std::vector<std::move_only_function<void()>> posted_;
  std::mutex plain_lock_;
  std::unordered_set<frame*> plain_frames_;
  std::vector<wait_table> wait_tables_;
  std::mutex report_lock_;
  std::atomic<long> background_{0};
  std::atomic<long> foreign_{0};
  std::atomic<std::uint32_t> resting_{0};  ///< workers that are parked
  std::atomic<std::uint32_t> asleep_{
      0};  ///< of those, who look again only when somebody wakes them
  std::unique_ptr<world_pause> pause_;
};

/// What another thread will do for this runtime. As long as one is kept and the process has another
/// thread, a program that waits for nothing else is not given up. It travels with what is posted:
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
    rt_->post([] {});  // it looks again at whether anything is left to wait for
  }

 private:
  runtime* rt_;
};

}  // namespace heddle

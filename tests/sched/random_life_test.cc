// SPDX-License-Identifier: MIT
// Random lives of runtimes: programs that end, wait in vain or are stopped, drains, single turns,
// threads that post meanwhile, runtimes inside runtimes. Every accepted call runs once, or goes
// with its runtime where the rules allow that; every task's frame ends; nothing hangs.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "heddle/core/deadline.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/yield.hh"
#include "heddle/io/blocking.hh"
#include "heddle/sched/runtime.hh"
#include "heddle/sim/driver.hh"
#include "support/draws.hh"
#include "support/drivers.hh"
#include "support/hang_watch.hh"
#include "support/seeds.hh"

namespace heddle::test {
namespace {

using namespace std::chrono_literals;

/// Drops what is written to stderr, dumps above all; not the text of a failed assertion.
class errors_dropped {
 public:
  errors_dropped() {
    errors = ::dup(STDERR_FILENO);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDERR_FILENO);
    ::close(nowhere);
    outer = set_assert_hook(&print);
  }
  errors_dropped(const errors_dropped&) = delete;
  errors_dropped& operator=(const errors_dropped&) = delete;
  ~errors_dropped() {
    set_assert_hook(outer);
    ::dup2(errors, STDERR_FILENO);
    ::close(errors);
  }

 private:
  static void print(const char* condition, const char* advice, const char* file, int line) {
    ::dup2(errors, STDERR_FILENO);
    outer(condition, advice, file, line);
  }
  static inline int errors = -1;
  static inline assert_hook outer = nullptr;
};

/// What one runtime's life must add up to. It outlives the runtime.
class life {
 public:
  life(std::uint64_t seed, std::uint64_t stream, const char* driver)
      : draw_(seed, stream), seed_(seed), stream_(stream), driver_(driver) {
    const auto all = static_cast<unsigned>(phase::count);
    for (unsigned i = 0; i != all; ++i)
      if (i == 0 || draw_.one_of(2)) kinds_.push_back(static_cast<phase>(i));
  }

  /// From the construction of the runtime to its end. The first fault, or an empty text.
  std::string live(int nested);
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

 private:
  enum class phase : unsigned {
    program,
    stopped,
    vain,
    vain_for_thread,
    for_thread,
    drain,
    turns,
    spawn,
    post,
    threads,
    dump,
    nested,
    count
  };
  /// A callable that is counted while it exists, and when it runs.
  struct counted_call {
    counted_call(life& of, int more, bool may_be_dropped)
        : its(&of), again(more), late(may_be_dropped) {
      ++its->callables_;
    }
    counted_call(counted_call&& from) noexcept : its(from.its), again(from.again), late(from.late) {
      ++its->callables_;
    }
    counted_call& operator=(counted_call&&) = delete;
    ~counted_call() { --its->callables_; }
    void operator()() { its->called(*this); }
    life* its;
    int again;  ///< how many more each call posts
    bool late;  ///< it may go with its runtime: a call posted it
  };
  struct frame_count {
    explicit frame_count(life& of) : its(of) { ++its.frames_; }
    frame_count(const frame_count&) = delete;
    ~frame_count() { --its.frames_; }
    life& its;
  };

  [[nodiscard]] bool simulated() const { return std::string_view(driver_) == "sim"; }
  void fault(const std::string& what) {
    const std::lock_guard hold(lock_);
    if (first_fault_.empty()) first_fault_ = what;
  }
  color some_color() { return color(draw_.below(6)); }
  nanoseconds some_span() { return draw_.span(simulated() ? nanoseconds(5ms) : 300us); }
  void called(counted_call& c);
  bool post(runtime& rt, color c, int again, bool only_try);

  task<> sleeps(nanoseconds span);
  task<> waits_for_ever();
  task<> blocks();
  task<int> ends(nanoseconds span, std::uint64_t yields);
  task<> vain();
  task<> stops_soon(nanoseconds span);
  task<int> waits_for(std::shared_ptr<std::atomic<event<int>*>> out);

  void one_phase(runtime& rt, phase kind, int nested);
  void run_vain(runtime& rt, bool for_thread);
  void run_stopped(runtime& rt);
  void run_for_thread(runtime& rt);
  void spawn(runtime& rt);
  void start_thread(runtime& rt);
  void finish_threads(runtime& rt);

  draws draw_;
  const std::uint64_t seed_, stream_;
  const char* const driver_;
  std::vector<phase> kinds_;
  std::atomic<long> callables_{0}, frames_{0};
  std::atomic<long> accepted_{0}, ran_{0}, accepted_late_{0}, ran_late_{0}, reports_{0};
  std::mutex lock_;
  std::string first_fault_;
  std::vector<event<>> kept_;  // guarded by lock_
  std::vector<std::jthread> threads_;
  std::atomic<int> posting_{0};
  std::uint64_t hash_ = 0;
  bool sleeps_long_ = false;
};

void life::called(counted_call& c) {
  ++(c.late ? ran_late_ : ran_);
  if (simulated())
    hash_ = (hash_ ^ worker::here().color ^ (worker::here().index << 8)) * 0x100000001b3;
  for (int i = 0; i != c.again; ++i) {
    std::move_only_function<void()> next = counted_call(*this, c.again - 1, true);
    ++accepted_late_;
    if (!runtime::here().try_post(color(i), next)) --accepted_late_;
  }
}

/// Whether the call was accepted.
bool life::post(runtime& rt, color c, int again, bool only_try) {
  std::move_only_function<void()> call = counted_call(*this, again, false);
  ++accepted_;
  if (only_try) {
    if (rt.try_post(c, call)) return true;
    if (!call) fault("a call that was refused is gone");
    --accepted_;
    return false;
  }
  try {
    rt.post(c, std::move(call));
    return true;
  } catch (const failure& f) {
    if (f.code() != std::errc::resource_unavailable_try_again) fault("a post failed otherwise");
    --accepted_;
    return false;
  }
}

task<> life::sleeps(nanoseconds span) {
  const frame_count counted(*this);
  static_cast<void>(co_await as_expected(sleep_for(span)));
}

/// The event's handle outlives the task, and perhaps the runtime.
task<> life::waits_for_ever() {
  const frame_count counted(*this);
  rendezvous<> r;
  {
    const std::lock_guard hold(lock_);
    kept_.push_back(r.make_event());
  }
  static_cast<void>(co_await as_expected(r));
}

task<> life::blocks() {
  const frame_count counted(*this);
  const auto call = [] { std::this_thread::yield(); };
  static_cast<void>(co_await as_expected(blocking(call)));
}

task<int> life::ends(nanoseconds span, std::uint64_t yields) {
  const frame_count counted(*this);
  co_await sleep_for(span);
  for (std::uint64_t i = 0; i != yields; ++i) co_await yield();
  co_return 7;
}

task<> life::vain() {
  const frame_count counted(*this);
  event<> kept;  // dropped after the rendezvous, so nothing expects it then
  rendezvous<> r;
  kept = r.make_event();
  co_await r;
}

task<> life::stops_soon(nanoseconds span) {
  const frame_count counted(*this);
  static_cast<void>(co_await as_expected(sleep_for(span)));
  runtime::here().stop();
}

task<int> life::waits_for(std::shared_ptr<std::atomic<event<int>*>> out) {
  const frame_count counted(*this);
  int got = 0;
  rendezvous<> r;
  out->store(new event<int>(r.make_event(got)));
  co_await r;
  co_return got;
}

/// A program that nothing can wake is an error; before that, a thread may keep it going.
void life::run_vain(runtime& rt, bool for_thread) {
  // In real time, a timer of an hour is something that could wake the program.
  if (!simulated() && sleeps_long_ && rt.drain() != 0) fault("tasks are left after drain()");
  sleeps_long_ = false;
  std::jthread holder;
  if (for_thread && !simulated()) {
    holder = std::jthread([span = some_span(), work = outside_work(rt)]() mutable {
      std::this_thread::sleep_for(span);
      const outside_work dropped = std::move(work);
    });
  }
  try {
    rt.run(vain());
    fault("a program that waits in vain has ended");
  } catch (const failure& f) {
    if (f.code() != std::errc::resource_deadlock_would_occur)
      fault(std::string("a program that waits in vain: ") + f.what());
  }
}

/// run() returns because a task, a call, a thread or this one has stopped it.
void life::run_stopped(runtime& rt) {
  std::jthread other;
  switch (draw_.below(simulated() ? 3 : 4)) {
    case 0:
      rt.stop();
      break;
    case 1:
      rt.spawn(some_color(), stops_soon(some_span()));
      break;
    case 2:
      if (!post(rt, some_color(), 0, true)) rt.stop();
      rt.spawn(some_color(), stops_soon(0ns));
      break;
    default:
      other = std::jthread([&rt, span = some_span()] {
        std::this_thread::sleep_for(span);
        rt.stop();
      });
  }
  rt.run();
}

void life::run_for_thread(runtime& rt) {
  const auto out = std::make_shared<std::atomic<event<int>*>>(nullptr);
  std::jthread other([&rt, out, span = some_span(), work = outside_work(rt)]() mutable {
    while (out->load() == nullptr) std::this_thread::yield();
    const std::unique_ptr<event<int>> done(out->load());
    std::this_thread::sleep_for(span);
    rt.trigger(std::move(*done), 9);
    const outside_work dropped = std::move(work);
  });
  if (rt.run(waits_for(out)) != 9) fault("a thread's event brings a wrong value");
}

void life::spawn(runtime& rt) {
  for (std::uint64_t i = 0, n = draw_.from(1, 4); i != n; ++i) {
    const color c = some_color();
    switch (draw_.below(4)) {
      case 0:
        rt.spawn(c, sleeps(1h));
        sleeps_long_ = true;
        break;
      case 1:
        rt.spawn(c, sleeps(some_span()));
        break;
      case 2:
        rt.spawn(c, waits_for_ever());
        break;
      default:
        rt.spawn(c, blocks());
    }
  }
}

/// A thread posts now and then, whatever the runtime does meanwhile.
void life::start_thread(runtime& rt) {
  ++posting_;
  threads_.emplace_back([this, &rt, its = draws(draw_.next())]() mutable {
    for (std::uint64_t i = 0, n = its.from(1, 30); i != n; ++i) {
      const color c(its.below(6));
      post(rt, c, static_cast<int>(its.below(3)), its.one_of(2));
      if (its.one_of(3)) std::this_thread::sleep_for(its.span(100us));
      if (its.one_of(20)) rt.stop();
    }
    --posting_;
  });
}

/// A thread may wait for room, which only a runtime that runs makes.
void life::finish_threads(runtime& rt) {
  while (posting_ != 0) rt.run(ends(50us, 0));
  threads_.clear();
}

void life::one_phase(runtime& rt, phase kind, int nested) {
  switch (kind) {
    case phase::program: {
      const nanoseconds span = some_span();
      const std::uint64_t yields = draw_.below(8);
      if (rt.run(ends(span, yields)) != 7) fault("a program gives a wrong value");
      break;
    }
    case phase::stopped:
      run_stopped(rt);
      break;
    case phase::vain:
      run_vain(rt, false);
      break;
    case phase::vain_for_thread:
      run_vain(rt, true);
      break;
    case phase::for_thread:
      if (!simulated()) run_for_thread(rt);
      break;
    case phase::drain:
      if (rt.drain() != 0) fault("tasks are left after drain()");
      if (frames_ != 0) fault("frames are left after drain()");
      break;
    case phase::turns:
      for (std::uint64_t i = 0, n = draw_.from(1, 20); i != n; ++i) rt.once();
      break;
    case phase::spawn:
      spawn(rt);
      break;
    case phase::post:
      for (std::uint64_t i = 0, n = draw_.from(1, 6); i != n; ++i)
        post(rt, some_color(), static_cast<int>(draw_.below(3)), draw_.one_of(2));
      break;
    case phase::threads:
      if (!simulated() && threads_.size() < 3) start_thread(rt);
      break;
    case phase::dump:
      if (draw_.one_of(2)) {
        if (rt.dump().empty()) fault("a dump is empty");
      } else if (!simulated()) {
        ::raise(SIGQUIT);  // delivered to this thread, so not after the runtime has ended
      }
      break;
    case phase::nested:
      if (nested != 0) {
        life inner(seed_, stream_ * 7 + draw_.below(1000) + 1, driver_);
        const std::string wrong = inner.live(nested - 1);
        if (!wrong.empty()) fault("nested: " + wrong);
      }
      break;
    default:
      break;
  }
}

std::string life::live(int nested) {
  {
    runtime_options options;
    options.driver = driver_;
    options.workers = static_cast<unsigned>(draw_.from(1, 4));
    options.batch = draw_.one_of(3) ? 1 : 256;
    options.posted_max = draw_.one_of(3) ? 2 : 65536;
    options.color_places = draw_.one_of(3) ? 4 : 65536;
    options.memory_bytes = std::size_t{64} << 20;  // abandoned for good where a handle is left
    options.stealing = !draw_.one_of(8);
    if (draw_.one_of(3)) options.spin = {};
    options.report = [this](const diagnostic& d) {
      if (d.kind == diagnostic_kind::leaked_memory && !kept_.empty()) {
        ++reports_;
      } else {
        fault(std::string("report ") + to_string(d.kind) + " " + to_string(resolve_site(d.made)));
      }
    };
    std::unique_ptr<driver> io;
    if (simulated()) {
      io = std::make_unique<sim_driver>(sim_options{.seed = seed_});
    } else {
      io = make_driver(driver_, options.io);
    }
    runtime rt(std::move(io), options);
    for (std::uint64_t i = 0, n = draw_.from(2, 10); i != n; ++i)
      one_phase(rt, kinds_[draw_.below(kinds_.size())], nested);
    finish_threads(rt);
    if (draw_.one_of(2)) {
      if (rt.drain() != 0) fault("tasks are left after the last drain()");
      if (accepted_ != ran_) fault("a call that was accepted before drain() has not run");
    }
    // Tasks that wait for these events are over after a drain.
    if (draw_.one_of(2) && rt.drain() != 0) fault("tasks are left before the end");
    if (frames_ == 0 && !draw_.one_of(8)) kept_.clear();
    rt.stop();
  }
  if (reports_ != (kept_.empty() ? 0 : 1))
    fault("handles that outlive their runtime are not reported");
  kept_.clear();
  if (accepted_ != ran_) fault("a call that was accepted has not run");
  if (ran_late_ > accepted_late_) fault("a call ran twice");
  if (callables_ != 0) fault("a callable is left");
  if (frames_ != 0) fault("a task's frame is left");
  return first_fault_;
}

/// One life after another in one process.
std::string live_lives(std::uint64_t seed, const char* driver, std::uint64_t* hash) {
  draws draw(seed, 1000);
  for (std::uint64_t i = 0, n = draw.from(1, 3); i != n; ++i) {
    life one(seed, i, driver);
    const std::string wrong = one.live(2);
    if (hash != nullptr) *hash = *hash * 31 + one.hash();
    if (!wrong.empty()) return wrong;
  }
  return {};
}

HEDDLE_TEST(random_life, "a runtime in a simulation may be used in any order, and ends clean") {
  for_seeds(400, [](std::uint64_t seed) {
    std::uint64_t first = 0, again = 0;
    EXPECT_EQ(live_lives(seed, "sim", &first), "");
    if (seed % 20 != 0) return;
    EXPECT_EQ(live_lives(seed, "sim", &again), "");
    EXPECT_EQ(first, again) << "the seed gives another order";
  });
}

DRIVER_TEST(random_life,
            "a runtime with threads around it may be used in any order, and ends clean") {
  if (!make.real()) GTEST_SKIP() << "the test above";
  for_seeds(60, [&](std::uint64_t seed) {
    const hang_watch watch(seed);
    std::string wrong;
    {
      const errors_dropped quiet;
      wrong = live_lives(seed, make.name().c_str(), nullptr);
    }
    EXPECT_EQ(wrong, "");
  });
}

}  // namespace
}  // namespace heddle::test

// SPDX-License-Identifier: MIT
// Making a runtime of its parts (runtime_parts.hh), and running a program in it. Its end is in
// runtime_end.cc.
#include "heddle/sched/runtime.hh"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "sched/end_of_tasks.hh"
#include "sched/quiescent.hh"
#include "sched/run_guard.hh"
#include "sched/runtime_parts.hh"

namespace heddle {
namespace {

unsigned workers_wanted(const runtime_options& options) {
  unsigned long n = options.workers;
  const char* const text = n == 0 ? std::getenv("HEDDLE_WORKERS") : nullptr;
  if (text != nullptr && std::string_view(text) == "auto") {
    n = std::clamp(std::thread::hardware_concurrency(), 1u, static_cast<unsigned>(workers_max));
  } else if (text != nullptr && *text != '\0') {
    char* end = nullptr;
    n = std::strtoul(text, &end, 10);
    if (*end != '\0' || n == 0)
      throw failure(std::make_error_code(std::errc::invalid_argument),
                    "HEDDLE_WORKERS is '" + std::string(text) + "'; it may be 1 to 64, or auto");
  }
  if (n > workers_max)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  std::to_string(n) + " workers are asked for; at most 64 are possible");
  return n == 0 ? 1 : static_cast<unsigned>(n);
}

std::unique_ptr<driver> driver_from(const driver_factory& make, driver_place& place) {
  std::unique_ptr<driver> made = make(place);
  if (made == nullptr)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "there is no driver for worker " + std::to_string(place.worker) +
                      "; with several workers, give runtime_options::drivers, a function that "
                      "makes the driver of each worker");
  return made;
}

}  // namespace

runtime::runtime(runtime_options options)
    : options_(std::move(options)), region_(options_.memory_bytes) {
  if (options_.drivers) {
    setup(options_.drivers);
  } else {
    setup([this](driver_place& place) { return make_driver(options_.driver, place); });
  }
}

runtime::runtime(std::unique_ptr<class driver> io, runtime_options options)
    : options_(std::move(options)), region_(options_.memory_bytes) {
  setup([&io](driver_place& place) {
    return place.workers == 1 || io->simulated() ? std::move(io) : io->for_worker(place);
  });
}

void runtime::setup(const driver_factory& make) {
  if (options_.ignore_sigpipe) std::signal(SIGPIPE, SIG_IGN);
  const unsigned workers = workers_wanted(options_);
  diagnostics_ = options_.diagnostics;
  if (const char* const wanted = std::getenv("HEDDLE_DIAGNOSTICS")) diagnostics_.change(wanted);
  options_.color_batch = std::max<std::size_t>(options_.color_batch, 1);
  parts_ = std::make_unique<runtime_parts>(*this);
  worker_set& all = parts_->workers;
  all.shared = workers > 1;
  driver_place place{.workers = workers, .options = options_.io};
  for (unsigned i = 0; i != workers; ++i) {
    place.worker = i;
    std::unique_ptr<class driver> own;
    if (!all.simulated) own = driver_from(make, place);
    if (i == 0) all.simulated = all.shared && own->simulated();
    class driver& io = own != nullptr ? *own : *all.first().own;
    auto s = std::make_unique<seat>(region_, *this, io.now());
    s->own = std::move(own);
    s->io = &io;
    worker& w = s->w;
    if (s->own != nullptr) io.attach(w, *this);
    w.index = i;
    w.io = &io;
    w.color = no_color;
    w.color_mask = parts_->colors.places() - 1;
    w.now = io.now();
    w.diagnostics = &diagnostics_;
    if (options_.policy) s->queue.set_policy(options_.policy());
    if (options_.task_policy)
      s->tasks = std::make_unique<detail::task_order>(options_.task_policy());
    w.order = s->tasks.get();
    all.seats.push_back(std::move(s));
  }
  if (all.simulated) parts_->loop.seed(all.first().io->random() | 1);
  if (options_.dump_signal != 0)  // the last step that may throw
    parts_->look.listen(options_.dump_signal);
  outer_worker_ = std::exchange(heddle_current_worker, &all.first().w);
  static_cast<void>(parts_->colors.enter_for(all.first(), 0));
}

runtime& runtime::here() { return static_cast<runtime&>(worker::here().sched); }

class driver& runtime::io() noexcept {
  const worker* const w = worker::current();
  return w != nullptr && &w->sched == this ? *w->io : *parts_->workers.first().io;
}
class driver& runtime::driver_at(std::size_t worker) noexcept {
  return *parts_->workers.seats[worker]->io;
}
worker& runtime::main_worker() noexcept { return parts_->workers.first().w; }
time_point runtime::next_wake() noexcept {
  return parts_->timers.next_due(parts_->workers.first());
}

scope& runtime::root() noexcept {
  worker* const w = worker::current();
  return w != nullptr && &w->sched == this ? *w->root_scope : *parts_->workers.first().w.root_scope;
}

std::coroutine_handle<> runtime::program_ended(join& j, worker& w) noexcept {
  auto& rt = static_cast<runtime&>(w.sched);
  // release: pairs with the acquire in run_program(), which then reads the result
  rt.ended_.store(&j, std::memory_order_release);
  if (w.index != 0) rt.parts_->workers.first().io->wake();
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

/// Prepares to run a program. After a drain or a deadlock, a color is cancelled until its tasks
/// have ended.
void runtime::begin_program() {
  check_use("run");
  if (!roots_canceled_ && !main_worker().root_scope->context_of_tasks().canceled()) return;
  if (const std::size_t left = reopen_roots(); left != 0)
    throw failure(canceled_error(),
                  "run() cannot begin another program: " + std::to_string(left) +
                      (left == 1 ? " task has" : " tasks have") +
                      " been cancelled and not ended; dump() says where each waits");
}

void runtime::run_program(join& kept) {
  event_loop& loop = parts_->loop;
  const run_guard inside(*this, __builtin_frame_address(0), "run");
  const auto ended = [&] { return ended_.load(std::memory_order_acquire) == &kept; };
  loop.begin_world();
  while (!ended()) {
    if (loop.turn(true)) continue;
    if (ended()) break;
    // Nothing can wake the program any more: it must not be left with a pointer to our stack.
    loop.end_world();
    const std::string where = dump();
    end_of_tasks ending(*this);
    loop.begin_world();
    // The other tasks end, too, as far as they can, so that another program may run after this one.
    const auto unfinished = [&] { return !ended() || (ending.is_busy() && ending.in_time()); };
    while (unfinished() && loop.turn(true)) {
    }
    HEDDLE_ASSERT(ended(), "a task can neither go on nor be cancelled" HEDDLE_LOST_TASK_HINT);
    loop.end_world();
    ending.finish();
    ended_.store(nullptr);
    throw failure(
        std::make_error_code(std::errc::resource_deadlock_would_occur),
        "the program waits, and nothing is left that the runtime knows of and that could "
        "wake it; if another thread will, let it keep a heddle::outside_work until it has "
        "posted\n" +
            where);
  }
  loop.end_world();
  ended_.store(nullptr);
  if (kept.error) std::rethrow_exception(std::exchange(kept.error, nullptr));
}

void runtime::run() {
  event_loop& loop = parts_->loop;
  const run_guard inside(*this, __builtin_frame_address(0), "run");
  loop.begin_world();
  while (!stop_.exchange(false)) {
    if (loop.turn(true)) continue;
    stop_.store(false);  // with several workers stop() may have come in the last turn
    break;
  }
  loop.end_world();
}

bool runtime::once() {
  const run_guard inside(*this, __builtin_frame_address(0), "turned");
  const auto frames = [this] {
    std::uint64_t n = 0;
    for (const auto& s : parts_->workers.seats) n += s->w.frames_run;
    return n;
  };
  const std::uint64_t before = frames();
  parts_->loop.turn_once();
  return frames() != before;
}

void runtime::stop() noexcept {
  stop_.store(true);
  parts_->workers.first().io->wake();
}

void runtime::post(color c, std::move_only_function<void()> f) {
  post_at(main_worker().place_of(c.number), std::move(f));
}
void runtime::post_at(std::uint32_t place, std::move_only_function<void()> f) {
  parts_->posted.post(place, std::move(f));
}
bool runtime::try_post(color c, std::move_only_function<void()>& f) {
  return parts_->posted.try_post(main_worker().place_of(c.number), f);
}
void runtime::look_again() noexcept { parts_->posted.look_again(); }

void runtime::preblock(event<> e) {
  worker_set& all = parts_->workers;
  const worker* const w = worker::current();
  seat& s = w != nullptr && &w->sched == this ? all.of(*w) : all.first();
  s.preblock.push_back(std::move(e));
}

std::size_t runtime::workers() const noexcept { return parts_->workers.size(); }
void runtime::add_background(int change) noexcept { parts_->loop.add_background(change); }
void runtime::add_foreign(int change) noexcept { parts_->loop.add_foreign(change); }

std::string runtime::dump() { return parts_->look.dump(); }
std::string runtime::dump_json() { return parts_->look.dump_json(); }
std::vector<suspended_task> runtime::suspended() { return parts_->look.suspended(); }
std::vector<worker_statistics> runtime::read_workers() { return parts_->look.read_workers(); }
std::vector<color_statistics> runtime::read_colors() { return parts_->look.read_colors(); }

void runtime::arm(worker& w, timer_node& node, time_point due) noexcept {
  parts_->timers.arm(w, node, due);
}
void runtime::arm_after(worker& w, timer_node& node, nanoseconds span) noexcept {
  parts_->timers.arm_after(w, node, span);
}
void runtime::disarm_shared(timer_node& node) noexcept { parts_->timers.disarm_shared(node); }
void runtime::post(worker& w, std::uint32_t place, link l) noexcept {
  parts_->colors.post(parts_->workers.of(w), place, l);
}
bool runtime::complete(operation& op, worker& w, const completion& c) noexcept {
  return parts_->completions.complete(op, w, c);
}
bool runtime::runs_colors() const noexcept {
  const worker_set& all = parts_->workers;
  return all.shared ? all.in_world : all.seats[0]->running;
}
void runtime::cancel(operation& op, worker& w) noexcept { parts_->completions.cancel(op, w); }

void runtime::adopt(frame& f) {
  parts_->look.adopt(f);
  root().enter();
}
void runtime::release(frame& f) noexcept {
  parts_->look.release(f);
  root().leave_later(worker::here());
}
void runtime::describe(wait_table table) { parts_->look.describe(table); }

void runtime::report(const diagnostic& d) noexcept {
  const strictness how = diagnostics_[d.kind];
  if (how == strictness::off) return;
  try {
    const std::unique_lock hold =
        parts_->workers.shared ? std::unique_lock(report_lock_) : std::unique_lock<std::mutex>();
    if (options_.report) {
      options_.report(d);
    } else {
      parts_->printer.print(d, read_clock());
    }
  } catch (...) {
    std::fputs("heddle: a report hook threw; the report is lost\n", stderr);
  }
  HEDDLE_ASSERT(how != strictness::abort, "the report above was configured to end the program");
}

}  // namespace heddle

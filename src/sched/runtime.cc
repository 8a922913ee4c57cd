// SPDX-License-Identifier: MIT
// The loop: ready frames in batches, then completions and timers, then sleep. A turn that has ready
// work makes no system call; the clock is read once a batch, and I/O is looked at by time, not by
// count. What several workers add stands in workers.cc, and what colors need in colors.cc.
#include "heddle/sched/runtime.hh"

#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "heddle/core/wait_walk.hh"
#include "sched/rest.hh"
#include "sched/seat.hh"

namespace heddle {
namespace {

unsigned workers_wanted(const runtime_options& options) {
  unsigned long n = options.workers;
  const char* const text = n == 0 ? std::getenv("HEDDLE_WORKERS") : nullptr;
  if (text != nullptr && *text != '\0') {
    char* end = nullptr;
    n = std::strtoul(text, &end, 10);
    if (*end != '\0' || n == 0)
      throw failure(std::make_error_code(std::errc::invalid_argument),
                    "HEDDLE_WORKERS is '" + std::string(text) + "'; it may be 1 to 64");
  }
  if (n > workers_max)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  std::to_string(n) + " workers are asked for; at most 64 are possible");
  return n == 0 ? 1 : static_cast<unsigned>(n);
}

}  // namespace

runtime::runtime(runtime_options options)
    : options_(std::move(options)), region_(options_.memory_bytes) {
  setup(make_driver(options_.driver, options_.io));
}

runtime::runtime(std::unique_ptr<class driver> io, runtime_options options)
    : options_(std::move(options)), region_(options_.memory_bytes) {
  setup(std::move(io));
}

void runtime::setup(std::unique_ptr<class driver> first) {
  if (options_.ignore_sigpipe) std::signal(SIGPIPE, SIG_IGN);
  const unsigned workers = workers_wanted(options_);
  diagnostics_ = options_.diagnostics;
  if (const char* const wanted = std::getenv("HEDDLE_DIAGNOSTICS")) diagnostics_.change(wanted);
  options_.color_batch = std::max<std::size_t>(options_.color_batch, 1);
  colors_ = std::make_unique<color_table>(options_.color_places);
  pause_ = std::make_unique<world_pause>();
  simulated_ = workers > 1 && first->simulated();
  shared_ = workers > 1;
  noted_ = options_.watch || options_.policy || options_.slow_handler > nanoseconds::zero();
  const std::string kind = first->name();
  class driver* const main_driver = first.get();
  for (unsigned i = 0; i != workers; ++i) {
    auto s = std::make_unique<seat>(region_, *this, main_driver->now());
    if (i == 0) {
      s->own = std::move(first);
    } else if (!simulated_) {
      s->own = make_driver(kind, options_.io);
      s->own->share_with(*main_driver, i);
    }
    s->io = s->own != nullptr ? s->own.get() : main_driver;
    s->io->route_to(*this);
    worker& w = s->w;
    w.index = i;
    w.io = s->io;
    w.color = no_color;
    w.color_mask = colors_->places() - 1;
    w.now = main_driver->now();
    w.diagnostics = &diagnostics_;
    if (options_.policy) s->queue.set_policy(options_.policy());
    s->count.number = i;
    seats_.push_back(std::move(s));
  }
  if (shared_ && !simulated_) main_driver->share_with(*main_driver, 0);
  if (simulated_) draw_ = main_driver->random() | 1;
  outer_worker_ = std::exchange(heddle_current_worker, &seats_[0]->w);
  static_cast<void>(enter_for(*seats_[0], 0));
}

runtime::~runtime() {
  std::size_t left = drain();
  for (const auto& s : seats_) s->preblock.clear();
  posted_.clear();
  pause_->leave();
  for (const auto& s : seats_)
    if (s->thread.joinable()) s->thread.join();
  seat& main = *seats_[0];
  if (main.held != nullptr) leave_color(main);
  // Freed on this thread: what belongs to other workers goes home, and they take it.
  std::size_t roots = 0;
  for (color_record* r = used_.load(); r != nullptr; r = r->next_used) {
    main.w.guards = r->guards;
    detail::free_guards(main.w);
    if (left != 0) {
      ++roots;
      continue;
    }
    std::destroy_at(r->root);
    main.w.memory.release(r->root, sizeof(scope));
  }
  std::size_t cells = 0;
  main.w.memory.collect_remote();
  for (const auto& s : seats_) s->w.memory.collect_remote();
  for (const auto& s : seats_) {
    s->w.memory.collect_remote();
    cells += s->w.memory.live();
  }
  cells -= 2 * roots;  // each has its scope and its context
  if (cells != 0 || left != 0) {
    const bool negative = static_cast<std::ptrdiff_t>(cells) < 0;
    report({negative ? diagnostic_kind::freed_twice : diagnostic_kind::leaked_memory,
            0,
            0,
            negative ? -cells : cells,
            {},
            {}});
    region_.abandon();  // what still points into it must not fault
  }
  for (const auto& s : seats_) s->w.io = nullptr;
  for (const auto& s : seats_) s->own.reset();
  heddle_current_worker = outer_worker_;
}

runtime& runtime::here() { return static_cast<runtime&>(worker::here().sched); }

class driver& runtime::io() noexcept {
  const worker* const w = worker::current();
  return w != nullptr && &w->sched == this ? *w->io : *seats_[0]->io;
}
class driver& runtime::driver_at(std::size_t worker) noexcept { return *seats_[worker]->io; }
worker& runtime::main_worker() noexcept { return seats_[0]->w; }
time_point runtime::next_wake() noexcept { return seats_[0]->wheel.next_due(); }

scope& runtime::root() noexcept {
  worker* const w = worker::current();
  return w != nullptr && &w->sched == this ? *w->root_scope : *seats_[0]->w.root_scope;
}

std::coroutine_handle<> runtime::program_ended(join& j, worker& w) noexcept {
  auto& rt = static_cast<runtime&>(w.sched);
  // release: pairs with the acquire in run_program(), which then reads the result
  rt.ended_.store(&j, std::memory_order_release);
  if (w.index != 0) rt.seats_[0]->io->wake();
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
  const auto ended = [&] { return ended_.load(std::memory_order_acquire) == &kept; };
  begin_world();
  while (!ended()) {
    if (turn(true)) continue;
    if (ended()) break;
    // Nothing can wake the program any more: it must not be left with a pointer to our stack.
    end_world();
    const std::string where = dump();
    static_cast<void>(cancel_roots());
    draining_ = false;
    begin_world();
    while (!ended() && turn(true)) {
    }
    HEDDLE_ASSERT(ended(), "a task can neither go on nor be cancelled" HEDDLE_LOST_TASK_HINT);
    end_world();
    ended_.store(nullptr);
    throw failure(std::make_error_code(std::errc::resource_deadlock_would_occur),
                  "the program waits for something that nobody will do; where another thread will, "
                  "let it keep a heddle::outside_work until it has posted\n" +
                      where);
  }
  end_world();
  ended_.store(nullptr);
  if (kept.error) std::rethrow_exception(std::exchange(kept.error, nullptr));
}

void runtime::run() {
  begin_world();
  while (!stop_.exchange(false) && turn(true)) {
  }
  end_world();
}

bool runtime::once() {
  const auto frames = [this] {
    std::uint64_t n = 0;
    for (const auto& s : seats_) n += s->w.frames_run;
    return n;
  };
  const std::uint64_t before = frames();
  stop_speaking();
  if (simulated_) {
    const auto work = [this] {
      return std::any_of(seats_.begin(), seats_.end(),
                         [](const auto& s) { return !s->queue.empty(); });
    };
    std::size_t turns = options_.batch;
    do {
      turn_simulated(false);
    } while (work() && --turns != 0);
  } else if (shared_) {
    turn_shared(*seats_[0], false);
  } else {
    turn(false);
  }
  end_world();
  return frames() != before;
}

void runtime::stop() noexcept {
  stop_.store(true);
  seats_[0]->io->wake();
}

/// Every root, wherever its color is; gives how many there are. The workers stand still.
std::size_t runtime::cancel_roots() {
  worker& w = main_worker();
  std::size_t roots = 0;
  draining_ = true;
  region_.open_reserve();  // a program may end because its memory is full
  for (color_record* r = used_.load(); r != nullptr; r = r->next_used) {
    ++roots;
    send_message(w, r->place_,
                 [root = r->root] { root->context_of_tasks().cancel(worker::running()); });
  }
  return roots;
}

std::size_t runtime::drain() {
  worker& w = main_worker();
  static_cast<void>(cancel_roots());
  for (frame* f : std::vector<frame*>(plain_frames_.begin(), plain_frames_.end())) {
    send_message(w, f->color, [this, f] {
      {
        const std::lock_guard hold(plain_lock_);
        if (!plain_frames_.contains(f)) return;  // it has finished meanwhile
      }
      f->at |= HEDDLE_AT_CANCELED;
      if ((f->at & HEDDLE_AT_QUEUED) != 0) return;
      f->at |= HEDDLE_AT_QUEUED;
      worker::running().post(link_of(*f));
    });
  }
  const time_point end = add_saturated(io().now(), options_.drain_timeout);
  struct alarm : timer_node {
    alarm() noexcept : timer_node([](timer_node&, worker&) noexcept {}) { for_worker = true; }
  } bound;
  arm(w, bound, end);  // so that a sleep ends there
  begin_world();
  const auto busy = [&] {
    if (live_roots_.load(std::memory_order_relaxed) != 0 || !w.ready.empty()) return true;
    if (w.root_scope != nullptr && w.color != no_color && w.root_scope->live() != 0) return true;
    if (seats_[0]->io->pending() > 0 || seats_[0]->letters != nullptr) return true;
    for (const auto& s : seats_) {
      if (!s->queue.empty()) return true;
      if (s->w.index != 0 && shared_ && !simulated_ &&
          (!s->parked.load() || s->pending.load(std::memory_order_relaxed) != 0 ||
           sleep_of(*s) == 0))
        return true;
    }
    return false;
  };
  while (busy()) {
    if (w.now >= end) break;
    if (!turn(true)) break;
  }
  end_world();
  std::size_t left = 0;
  for (color_record* r = used_.load(); r != nullptr; r = r->next_used) left += r->root->live();
  draining_ = false;
  return left;
}

namespace {

/// Whether the process has another thread. Asked only before a program is given up.
bool other_threads() noexcept {
  struct stat tasks{};
  // A directory has two links and one more for each directory in it: here, for each thread.
  return ::stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink > 3;
}

}  // namespace

bool runtime::anything_outside(seat& s) noexcept {
  return s.io->pending() > static_cast<std::size_t>(background_.load(std::memory_order_relaxed)) ||
         has_posted_.load() || (foreign_.load(std::memory_order_relaxed) > 0 && other_threads());
}

bool runtime::turn(bool may_sleep) {
  if (!shared_) return turn_alone(*seats_[0], may_sleep);
  if (simulated_) return turn_simulated(may_sleep);
  seat& s = *seats_[0];
  if (in_world_ && pause_->asked()) {  // another worker wants to look at everything
    stand_still(s);
    static_cast<void>(pause_->wait());
  }
  return turn_shared(s, may_sleep);
}

bool runtime::turn_alone(seat& s, bool may_sleep) {
  worker& w = s.w;
  if (!w.idle()) {
    run_colors(s, options_.batch);
    w.now = s.io->now();
    const bool idle = w.idle();
    if (!idle && w.now - s.polled_at < options_.poll_interval) return true;
    if (idle && may_sleep) return true;  // the next turn looks at I/O and may sleep
  }
  if (has_posted_.load(std::memory_order_acquire)) run_posted();
  if (w.idle() && !s.preblock.empty()) run_preblock(s);
  time_point until = time_point::min();
  if (may_sleep && w.idle()) {
    until = s.wheel.next_due();
    if (until == never && !anything_outside(s)) return false;
  }
  s.io->turn(w, until);
  if (until == never && s.io->stalled() && !has_posted_.load()) return false;
  w.now = s.polled_at = s.io->now();
  expire(s);
  if (has_posted_.load(std::memory_order_acquire)) run_posted();
  w.memory.collect_remote();
  return may_sleep || !w.idle();
}

void runtime::post(std::move_only_function<void()> f) {
  {
    const std::lock_guard hold(posted_lock_);
    posted_.push_back(std::move(f));
    // release: pairs with the acquire in turn()
    has_posted_.store(true, std::memory_order_release);
  }
  seats_[0]->io->wake();
}

void runtime::run_posted() {
  std::vector<std::move_only_function<void()>> calls;
  {
    const std::lock_guard hold(posted_lock_);
    calls.swap(posted_);
    has_posted_.store(false, std::memory_order_relaxed);
  }
  worker& w = worker::here();
  if (!shared_ && enter_for(seat_of(w), 0)) {
    const context_note outer = std::exchange(w.context_now, w.root_context);
    for (auto& call : calls) call();
    w.context_now = outer;
    return;
  }
  for (auto& call : calls) send_message(w, 0, std::move(call));
}

void runtime::preblock(event<> e) {
  const worker* const w = worker::current();
  seat& s = w != nullptr && &w->sched == this ? seat_of(*w) : *seats_[0];
  s.preblock.push_back(std::move(e));
}

/// With several workers no color may be entered here: what is of another travels as a message.
void runtime::run_preblock(seat& s) {
  std::vector<event<>> ripe = std::exchange(s.preblock, {});
  for (event<>& e : ripe) {
    if (!shared_) static_cast<void>(enter_for(s, e.record() == nullptr ? 0 : e.record()->color));
    e.trigger();
  }
}

/// Calls look() while the other workers stand still, between frames, or inside one that wants to
/// look too. Not at all when the program ends meanwhile.
template <class F>
void runtime::while_all_stand_still(F&& look) {
  if (!shared_ || simulated_ || !in_world_) {
    look();
    return;
  }
  const std::size_t self = worker::here().index;
  std::unique_lock turn_to_look(pause_->one_at_a_time, std::defer_lock);
  while (!turn_to_look.try_lock()) {
    if (pause_->asked() && !pause_->wait_in_frame()) return;
    std::this_thread::yield();
  }
  pause_->begin(seats_.size() - 1, false, [&] {
    for (const auto& s : seats_)
      if (s->w.index != self) s->io->wake();
  });
  struct go_on {
    world_pause& pause;
    ~go_on() { pause.end(); }
  } const at_end{*pause_};
  look();
}

std::vector<suspended_task> runtime::suspended() {
  std::vector<suspended_task> found;
  while_all_stand_still([&] { found = walk_all(); });
  return found;
}

std::vector<suspended_task> runtime::walk_all() {
  worker& w = worker::here();
  wait_walk walk(w.memory);
  const auto ready = [&](link l) {
    if (!is_plain(l) && promise_of(l).context_low != 0)
      walk.add_ready(l, w.context_at(promise_of(l).context_low));
  };
  for (const auto& s : seats_) s->w.ready.each(ready);
  for (color_record* r = used_.load(); r != nullptr; r = r->next_used) {
    for (link l = r->waiting.first; l != no_link; l = next_of(l)) ready(l);
    for (link l = r->inbox.newest(); l != no_link; l = next_of(l)) {
      ready(l);
      if (decltype(r->inbox)::ends_chain(next_of(l))) break;
    }
    walk.add_below(r->root->context_of_tasks(), w.now);
  }
  for (const frame* f : plain_frames_) walk.add_plain(*f, wait_tables_);
  return std::move(walk).finish();
}

std::string runtime::dump() { return dump_text(suspended()); }

std::string runtime::dump_json() { return heddle::dump_json(suspended()); }

std::vector<worker_statistics> runtime::read_workers() {
  std::vector<worker_statistics> all;
  for (const auto& s : seats_) {
    all.push_back(s->count);
    all.back().waiting = s->queue.size();
    all.back().frames = s->w.frames_run;
  }
  return all;
}

std::vector<color_statistics> runtime::read_colors() {
  std::vector<color_statistics> all;
  while_all_stand_still([&] {
    for (color_record* r = used_.load(); r != nullptr; r = r->next_used)
      all.push_back(statistics_of(*r));
  });
  return all;
}

color_statistics runtime::statistics_of(const color_record& r) const {
  color_statistics c;
  c.number = color(r.place_);
  c.worker = r.last_worker == 0 ? 0 : r.last_worker - 1U;
  for (link l = r.waiting.first; l != no_link; l = next_of(l)) ++c.waiting;
  c.turns = r.turns;
  c.frames = r.frames;
  c.moves = r.moves;
  c.run = r.run;
  c.waited = r.waited;
  c.waited_most = r.waited_most;
  c.longest = r.longest;
  return c;
}

void runtime::report(const diagnostic& d) noexcept {
  const strictness how = diagnostics_[d.kind];
  if (how == strictness::off) return;
  try {
    const std::unique_lock hold =
        shared_ ? std::unique_lock(report_lock_) : std::unique_lock<std::mutex>();
    if (options_.report) {
      options_.report(d);
    } else {
      std::fprintf(stderr, "%s\n", to_string(d).c_str());
    }
  } catch (...) {
    std::fputs("heddle: a report hook threw; the report is lost\n", stderr);
  }
  HEDDLE_ASSERT(how != strictness::abort, "the report above was configured to end the program");
}

void runtime::adopt(frame& f) {
  {
    const std::lock_guard hold(plain_lock_);
    plain_frames_.insert(&f);
  }
  root().enter();
}

void runtime::release(frame& f) noexcept {
  {
    const std::lock_guard hold(plain_lock_);
    plain_frames_.erase(&f);
  }
  root().leave_later(worker::here());
}

}  // namespace heddle

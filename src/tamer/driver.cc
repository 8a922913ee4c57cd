// SPDX-License-Identifier: MIT
// One runtime for the whole program, made by tamer::initialize(). tamer's interface has no place
// for an object, so its state is one static here.
#include "tamer/driver.hh"

#include <pthread.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "heddle/core/sleep.hh"
#include "heddle/io/detail/runtime_tcp.hh"
#include "tamer/descriptor_waits.hh"
#include "tamer/loop_driver.hh"
#include "tamer/loop_state.hh"

namespace heddle::tame {
namespace {

struct program {
  std::unique_ptr<runtime> rt;
  std::optional<heddle::detail::runtime_tcp> tcp;  ///< HEDDLE_NET's
  loop_driver* io = nullptr;                       ///< the driver of `rt`
  std::size_t cells = 0;                           ///< memory cells in use before anything waited
  bool looping = false;
  bool several = false;  ///< the program is ready for several workers
  bool describing = false;
  bool ignore_sigpipe = true;
  timeval recent{};  ///< the last reading of a runtime that has ended
  std::mutex lock;   ///< guards `error`
  std::exception_ptr error;
};

program& here() {
  // Never destroyed: events and rendezvous that are static outlive everything else.
  static program& p = *new program;
  return p;
}

runtime& running() {
  HEDDLE_ASSERT(here().rt != nullptr, "call tamer::initialize() first");
  return *here().rt;
}

std::string driver_wanted() {
  if (std::getenv("HEDDLE_DRIVER") != nullptr) return {};
  const char* const wanted = std::getenv("TAMER_DRIVER");
  const std::string name = wanted == nullptr ? "" : wanted;
  return name == "epoll" || name == "poll" || name == "sim" ? name : std::string();
}

void say_one_worker() {
  const char* const wanted = std::getenv("HEDDLE_WORKERS");
  if (wanted != nullptr && *wanted != 0 && std::string_view(wanted) != "1")
    std::fprintf(stderr,
                 "heddle: HEDDLE_WORKERS=%s has no effect: call "
                 "tamer::initialize(tamer::several_workers) (docs/guide/from-tame.md#workers)\n",
                 wanted);
}

/// The driver of the worker that runs here.
loop_driver& io_here() { return static_cast<loop_driver&>(running().io()); }

void build(bool with_virtual_time) {
  program& p = here();
  runtime_options options;
  options.driver = driver_wanted();
  options.workers = p.several && !with_virtual_time ? 0 : 1;
  options.ignore_sigpipe = p.ignore_sigpipe;
  heddle::detail::read_network(options);
  options.drivers = [&options, with_virtual_time](driver_place& place) {
    return std::make_unique<loop_driver>(options.driver, place, with_virtual_time);
  };
  p.recent = {};  // the old time came from another clock
  p.rt = std::make_unique<runtime>(options);
  p.io = static_cast<loop_driver*>(&p.rt->driver_at(0));
  p.cells = p.rt->main_worker().memory.live();
  p.describing = std::getenv("HEDDLE_TAME_DESCRIBE") != nullptr;
  p.tcp.emplace();
}

/// As build(); a wrong HEDDLE_NET ends the program, because tamer's interface reports no errors.
void build_or_exit(bool with_virtual_time) {
  try {
    build(with_virtual_time);
  } catch (const failure& e) {
    std::fprintf(stderr, "heddle: %s\n", e.what());
    std::exit(2);
  }
}

timeval to_timeval(nanoseconds t) noexcept {
  timeval out{};
  out.tv_sec = static_cast<time_t>(t.count() / 1'000'000'000);
  out.tv_usec = static_cast<suseconds_t>(t.count() % 1'000'000'000 / 1000);
  return out;
}
nanoseconds from_timeval(const timeval& t) noexcept {
  return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
}
nanoseconds from_seconds(double s) noexcept {
  if (std::isnan(s)) return nanoseconds::zero();
  if (s >= 9e9) return nanoseconds::max();
  return nanoseconds(static_cast<std::int64_t>(std::llround(s * 1e9)));
}
nanoseconds wall_time() { return running().io().wall_time(); }
void note_recent(nanoseconds wall) {
  loop_driver& io = io_here();
  io.recent = to_timeval(wall);
  io.recent_at = io.now();
}

/// Ends all waiting functions, one after the other, because the end of one may end others.
void end_all_functions(runtime& rt) {
  worker& w = rt.main_worker();
  while (true) {
    link found = no_link;
    w.ready.each([&](link l) {
      if (found == no_link && promise::is_ours(l)) found = l;
    });
    if (found == no_link) {
      rt.root().context_of_tasks().waits().each([&](wait& x) {
        if (found == no_link && promise::is_ours(x.frame)) found = x.frame;
      });
    }
    if (found == no_link) return;
    promise::destroy(found);
  }
}

/// Silences the report of dropped waits, which at the end of a program are no mistake.
void end_quietly(runtime& rt) noexcept {
  rt.diagnostics().set(diagnostic_kind::abandoned_event, strictness::off);
}

/// Ends the runtime. If static objects still have events, its memory stays for them.
void end_runtime() {
  program& p = here();
  p.recent = p.io->recent;
  for (std::size_t i = 0; i != p.rt->workers(); ++i)
    static_cast<loop_driver&>(p.rt->driver_at(i)).drop_preblock();
  if (heddle::detail::runtime_tcp::here() != nullptr) p.rt->run(p.tcp->settled());
  p.tcp.reset();
  static_cast<void>(p.rt->drain());  // also ends the functions of other colors
  // Other colors have cells of their own, so a count tells nothing of static objects; the runtime
  // keeps its memory mapped for them.
  const bool has_colors = p.rt->workers() > 1 || p.rt->read_colors().size() > 1;
  if (has_colors) p.rt->diagnostics().set(diagnostic_kind::leaked_memory, strictness::off);
  if (has_colors || p.rt->main_worker().memory.live() == p.cells) {
    p.rt.reset();
  } else {
    static_cast<void>(p.rt.release());
  }
  p.io = nullptr;
}

/// A child of a program with several workers has no other worker's thread; it may only exec.
void in_the_child() {
  program& p = here();
  if (p.rt == nullptr || p.rt->workers() > 1) return;
  if (&worker::here() == &p.rt->main_worker()) p.io->forked(worker::here());
}

}  // namespace

bool describing() noexcept { return here().describing; }

bool several_workers() noexcept { return here().several; }

bool loop_failed(std::exception_ptr error) noexcept {
  program& p = here();
  const std::lock_guard hold(p.lock);
  if (!p.looping) return false;
  if (p.error) return false;  // the loop rethrows one error; a second one is reported
  p.error = std::move(error);
  p.rt->stop();
  return true;
}

}  // namespace heddle::tame

namespace tamer {

using heddle::nanoseconds;
using namespace heddle::tame;

driver* driver::main = nullptr;

namespace {

struct loop_scope {
  loop_scope() noexcept : outer(std::exchange(here().looping, true)) {}
  ~loop_scope() { here().looping = outer; }
  bool outer;
};

void rethrow_failure() {
  if (here().error) std::rethrow_exception(std::exchange(here().error, nullptr));
}

}  // namespace

bool initialized() noexcept { return here().rt != nullptr; }

void initialize(int flags) {
  if (initialized()) return;
  here().several = (flags & several_workers) != 0;
  if (!here().several) say_one_worker();
  here().ignore_sigpipe = (flags & keep_sigpipe) == 0;
  build_or_exit(false);
  static const int told = ::pthread_atfork(nullptr, nullptr, &in_the_child);
  static_cast<void>(told);
  static driver only;
  driver::main = &only;
}

void cleanup() {
  program& p = here();
  if (p.rt == nullptr) return;
  end_quietly(*p.rt);
  end_all_functions(*p.rt);
  end_runtime();
  p.error = nullptr;
  driver::main = nullptr;
}

void loop() {
  heddle::runtime& rt = running();
  {
    const loop_scope inside;
    rt.run();
  }
  rethrow_failure();
}

void once() {
  heddle::runtime& rt = running();
  {
    const loop_scope inside;
    if (rt.main_worker().idle()) {  // the loop may sleep, once
      here().io->stop_after_sleep(&rt);
      rt.run();
      if (here().io->has_slept()) here().io->continue_turn();
      here().io->stop_after_sleep(nullptr);
    }
    rt.once();
  }
  rethrow_failure();
}

void break_loop() { running().stop(); }

void set_time_type(time_type t) {
  static_cast<void>(running());
  if (here().io->has_virtual_time() == (t == time_virtual)) return;
  end_quietly(running());
  end_all_functions(running());
  end_runtime();
  build_or_exit(t == time_virtual);
}

const timeval& now() {
  set_recent();
  return io_here().recent;
}
const timeval& recent() {
  if (!initialized()) return here().recent;
  loop_driver& io = io_here();
  if (io.recent.tv_sec == 0 || io.take_turned()) note_recent(io.wall_time());
  return io.recent;
}
void set_recent() { note_recent(io_here().read()); }
double dnow() {
  set_recent();
  return drecent();
}
double drecent() {
  const timeval& t = recent();
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

namespace {

void start_timer(nanoseconds span, event<> e, bool background) {
  static_cast<void>(background);
  if (span <= nanoseconds::zero()) return heddle::asap(std::move(e));
  // As in tamer, delays count from recent(), so that those of one turn end in the order of length.
  static_cast<void>(recent());
  heddle::timer_until(heddle::add_saturated(io_here().recent_at, span), std::move(e));
}

}  // namespace

void at_delay(double seconds, event<> e, bool background) {
  start_timer(from_seconds(seconds), std::move(e), background);
}
void at_delay(timeval delay, event<> e, bool background) {
  start_timer(from_timeval(delay), std::move(e), background);
}
void at_delay_sec(int seconds, event<> e, bool background) {
  start_timer(std::chrono::seconds(seconds), std::move(e), background);
}
void at_delay_msec(int milliseconds, event<> e, bool background) {
  start_timer(std::chrono::milliseconds(milliseconds), std::move(e), background);
}
void at_delay_usec(int microseconds, event<> e, bool background) {
  start_timer(std::chrono::microseconds(microseconds), std::move(e), background);
}
void at_time(double seconds, event<> e, bool background) {
  start_timer(from_seconds(seconds) - wall_time(), std::move(e), background);
}
void at_time(timeval when, event<> e, bool background) {
  start_timer(from_timeval(when) - wall_time(), std::move(e), background);
}
void at_preblock(event<> e) {
  heddle::runtime& rt = running();
  if (e) io_here().at_preblock(rt, std::move(e));
}

heddle::runtime& driver::beneath() const noexcept { return running(); }

void driver::kill_fd(int fd) {
  descriptor_waits none;
  descriptor_waits* const waits = waits_of(fd);
  note_waits(fd, nullptr);
  close_descriptor(fd, waits == nullptr ? none : *waits);
}

timeval driver::next_wake() const {
  const heddle::time_point due = running().next_wake();
  if (due == heddle::never) return {-1, 0};
  const nanoseconds span = due - running().io().now();
  return to_timeval(std::max(span, nanoseconds::zero()) + wall_time());
}

void driver::blocked_locations(std::vector<std::string>& out) const {
  if (running().workers() > 1) {  // without descriptions, and with the waits of tasks
    for (const heddle::suspended_task& t : running().suspended())
      if (!t.chain.empty()) out.push_back(to_string(heddle::resolve_site(t.chain.front())));
    return;
  }
  running().root().context_of_tasks().waits().each([&](heddle::wait& x) {
    if (!promise::is_ours(x.frame)) return;
    std::string where = to_string(heddle::resolve_site(heddle::promise_of(x.frame).at));
    using waiter = heddle::detail::event_set::waiter;
    if (x.kind == &waiter::kind) where += description_of(static_cast<waiter&>(x).set);
    out.push_back(std::move(where));
  });
}

}  // namespace tamer

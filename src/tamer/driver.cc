// SPDX-License-Identifier: MIT
// One runtime for the whole program, made by tamer::initialize(). tamer's interface has no place
// for an object, so its state is one static here.
#include "tamer/driver.hh"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "heddle/core/sleep.hh"
#include "tamer/loop_driver.hh"
#include "tamer/loop_state.hh"

namespace heddle::tame {
namespace {

struct program {
  std::unique_ptr<runtime> rt;
  loop_driver* io = nullptr;  ///< the driver of `rt`
  std::size_t cells = 0;      ///< memory cells in use before anything waited
  bool looping = false;
  std::exception_ptr error;
  bool describing = false;
  bool ignore_sigpipe = true;
  timeval recent{};
  time_point recent_at{};   ///< the moment of `recent` on the runtime's clock
  std::vector<bool> owned;  ///< by descriptor number: whether a tamer::fd has it
  std::unordered_map<const heddle::detail::event_set*, std::string> said;
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
    std::fprintf(stderr, "heddle: HEDDLE_WORKERS=%s is ignored: Tame has one worker\n", wanted);
}

void build(bool with_virtual_time) {
  program& p = here();
  runtime_options options;
  options.driver = driver_wanted();
  options.workers = 1;
  options.ignore_sigpipe = p.ignore_sigpipe;
  auto io = std::make_unique<loop_driver>(options.driver, options.io, with_virtual_time);
  p.io = io.get();
  p.recent = {};  // the old time came from another clock
  p.rt = std::make_unique<runtime>(std::move(io), options);
  p.cells = p.rt->main_worker().memory.live();
  p.describing = std::getenv("HEDDLE_TAME_DESCRIBE") != nullptr;
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
  here().recent = to_timeval(wall);
  here().recent_at = here().io->now();
}
nanoseconds read_clock() {
  static_cast<void>(running());
  return here().io->read();
}

/// An event's wait for a descriptor. It ends when the descriptor is ready or the event has ended.
template <class Event>
struct watch : operation, event_notifier {
  watch(int fd, unsigned events, Event e) noexcept
      : operation(kind_of_wait, op_code::poll, fd, &completed),
        event_notifier(&event_ended),
        target(std::move(e)) {
    flags = events;
  }
  static void start(int fd, unsigned events, Event e) {
    if (!e) return;
    worker& w = worker::here();
    const int duplicate = is_owned(fd) ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (duplicate < 0 && !is_owned(fd)) return tell(e, -errno);
    auto* self = new (w.memory.allocate(sizeof(watch)))
        watch(duplicate >= 0 ? duplicate : fd, events, std::move(e));
    self->duplicate = duplicate >= 0;
    heddle::detail::add_notifier(*self->target.record(), *self);
    self->color = static_cast<std::uint16_t>(w.color);
    completion now;
    if (w.io->submit(*self, w, now)) completed(*self, w, now);
  }
  static bool completed(operation& op, worker& w, const completion& c) noexcept {
    auto& self = static_cast<watch&>(op);
    Event target = std::move(self.target);
    if (target) heddle::detail::remove_notifier(*target.record(), self);
    const bool wanted = static_cast<bool>(target);
    const std::int64_t result = c.result;
    const int to_close = self.duplicate ? self.fd : -1;
    std::destroy_at(&self);
    w.memory.release(&self, sizeof(watch));
    if (to_close >= 0) w.io->close(to_close, w);
    if (wanted) tell(target, result);
    return false;
  }
  static void tell(const Event& target, std::int64_t result) {
    if constexpr (std::is_same_v<Event, event<int>>) {
      const auto seen = static_cast<unsigned>(result < 0 ? 0 : result);
      const bool gone = (seen & (POLLHUP | POLLERR)) != 0 && (seen & POLLIN) == 0;
      target.trigger(result < 0 ? static_cast<int>(result) : gone ? -EPIPE : 0);
    } else {
      target.trigger();
    }
  }
  static void event_ended(event_notifier& n, worker& w) noexcept {
    auto& self = static_cast<watch&>(n);
    static_cast<runtime&>(w.sched).cancel(self, w);
  }
  static const wait_kind kind_of_wait;

  Event target;
  bool duplicate = false;
};

template <class Event>
const wait_kind watch<Event>::kind_of_wait{"descriptor", [](wait&, worker&) noexcept {}};

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
  p.io->drop_preblock();
  static_cast<void>(p.rt->drain());
  if (p.rt->main_worker().memory.live() == p.cells) {
    p.rt.reset();
  } else {
    static_cast<void>(p.rt.release());
  }
  p.io = nullptr;
}

void in_the_child() {
  program& p = here();
  if (p.rt != nullptr && &worker::here() == &p.rt->main_worker()) p.io->forked(worker::here());
}

}  // namespace

bool describing() noexcept { return here().describing; }

void note_owned(int fd, bool owned) {
  std::vector<bool>& all = here().owned;
  if (fd < 0) return;
  if (static_cast<std::size_t>(fd) >= all.size()) all.resize(static_cast<std::size_t>(fd) + 64);
  all[static_cast<std::size_t>(fd)] = owned;
}
bool is_owned(int fd) noexcept {
  const std::vector<bool>& all = here().owned;
  return fd >= 0 && static_cast<std::size_t>(fd) < all.size() && all[static_cast<std::size_t>(fd)];
}

std::unordered_map<const heddle::detail::event_set*, std::string>& descriptions() {
  return here().said;
}

bool loop_failed(std::exception_ptr error) noexcept {
  program& p = here();
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
  say_one_worker();
  here().ignore_sigpipe = (flags & keep_sigpipe) == 0;
  build(false);
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
  build(t == time_virtual);
}

const timeval& now() {
  set_recent();
  return here().recent;
}
const timeval& recent() {
  if (here().recent.tv_sec == 0 || (here().io != nullptr && here().io->take_turned()))
    note_recent(wall_time());
  return here().recent;
}
void set_recent() { note_recent(read_clock()); }
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
  heddle::timer_until(heddle::add_saturated(here().recent_at, span), std::move(e));
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
  if (e) here().io->at_preblock(rt, std::move(e));
}

void at_fd_read(int fd, event<> e) { watch<event<>>::start(fd, POLLIN, std::move(e)); }
void at_fd_read(int fd, event<int> e) { watch<event<int>>::start(fd, POLLIN, std::move(e)); }
void at_fd_write(int fd, event<> e) { watch<event<>>::start(fd, POLLOUT, std::move(e)); }
void at_fd_write(int fd, event<int> e) { watch<event<int>>::start(fd, POLLOUT, std::move(e)); }
void at_fd_shutdown(int fd, event<> e) { watch<event<>>::start(fd, POLLRDHUP, std::move(e)); }

heddle::runtime& driver::beneath() const noexcept { return running(); }

void driver::kill_fd(int fd) {
  note_owned(fd, false);
  running().io().close(fd, heddle::worker::here());
}

timeval driver::next_wake() const {
  const heddle::time_point due = running().next_wake();
  if (due == heddle::never) return {-1, 0};
  const nanoseconds span = due - running().io().now();
  return to_timeval(std::max(span, nanoseconds::zero()) + wall_time());
}

void driver::blocked_locations(std::vector<std::string>& out) const {
  running().root().context_of_tasks().waits().each([&](heddle::wait& x) {
    if (!promise::is_ours(x.frame)) return;
    std::string where = to_string(heddle::resolve_site(heddle::promise_of(x.frame).at));
    using waiter = heddle::detail::event_set::waiter;
    if (x.kind == &waiter::kind) {
      const auto said = descriptions().find(static_cast<waiter&>(x).set);
      if (said != descriptions().end()) where += " " + said->second;
    }
    out.push_back(std::move(where));
  });
}

}  // namespace tamer

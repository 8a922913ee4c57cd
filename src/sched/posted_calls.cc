// SPDX-License-Identifier: MIT
// Calls that threads outside of the runtime post to a color. Each is a frame on the heap, made by
// the thread that posts; the first worker, or one that serves for it, links it into its color,
// so no worker allocates for it. A call counts against runtime_options::posted_max until it has
// run.
#include "sched/posted_calls.hh"

namespace heddle {

struct posted_calls::call_frame : frame {
  call_frame(posted_calls& owner, std::uint32_t color, std::move_only_function<void()>&& f) noexcept
      : frame{&run, &drop, no_link, HEDDLE_AT_QUEUED, 0},
        its(owner),
        place(color),
        call(std::move(f)) {}

  static heddle_link run(frame* f, heddle_worker*) {
    const std::unique_ptr<call_frame> self(static_cast<call_frame*>(f));
    self->make();
    return no_link;
  }
  static void drop(frame* f, heddle_worker*) { delete static_cast<call_frame*>(f); }
  void make() {
    const std::size_t before = its.waiting_.fetch_sub(1, std::memory_order_relaxed);
    if (before == its.all_.options.posted_max) its.waiting_.notify_all();
    call();
  }

  posted_calls& its;
  std::uint32_t place;
  std::move_only_function<void()> call;
};

namespace {

link take_first(frame_list& calls) noexcept {
  const link l = calls.first;
  calls.first = next_of(l);
  next_of(l) = no_link;
  return l;
}

}  // namespace

bool posted_calls::take_room(bool may_wait) noexcept {
  std::size_t waiting = waiting_.load(std::memory_order_relaxed);
  for (;;) {
    if (waiting < all_.options.posted_max) {
      if (waiting_.compare_exchange_weak(waiting, waiting + 1, std::memory_order_relaxed))
        return true;
      continue;
    }
    if (!may_wait) return false;
    waiting_.wait(waiting, std::memory_order_relaxed);
    waiting = waiting_.load(std::memory_order_relaxed);
  }
}

void posted_calls::post(std::uint32_t place, std::move_only_function<void()> f) {
  if (!take_room(worker::current() == nullptr))
    throw failure(std::make_error_code(std::errc::resource_unavailable_try_again),
                  "as many posted calls wait as runtime_options::posted_max allows");
  queue(place, std::move(f));
}

bool posted_calls::try_post(std::uint32_t place, std::move_only_function<void()>& f) {
  if (!take_room(false)) return false;
  queue(place, std::move(f));
  return true;
}

/// Queues a call that has been counted.
void posted_calls::queue(std::uint32_t place, std::move_only_function<void()>&& f) {
  auto* const call = new (std::nothrow) call_frame(*this, place, std::move(f));
  if (call == nullptr) {
    if (waiting_.fetch_sub(1, std::memory_order_relaxed) == all_.options.posted_max)
      waiting_.notify_all();
    throw std::bad_alloc();
  }
  {
    const std::lock_guard hold(lock_);
    calls_.push(link_of(*call));
    ++posted_;
    // release: pairs with the acquire in has_any()
    has_any_.store(true, std::memory_order_release);
  }
  all_.seats[0]->io->wake();
}

/// Makes the first worker check again whether anything can still come.
void posted_calls::look_again() noexcept {
  has_any_.store(true, std::memory_order_release);
  all_.seats[0]->io->wake();
}

void posted_calls::run() {
  worker& w = worker::here();
  seat& s = all_.of(w);
  frame_list calls;
  {
    const std::lock_guard hold(lock_);
    calls = std::exchange(calls_, {});
    brought_ = posted_;
    // The first worker and one that serves for it may both be here: calls are put into their
    // colors' inboxes in the order of their posts, so the lock is kept meanwhile.
    while (all_.shared && !calls.empty()) {
      const link l = take_first(calls);
      colors_.bring(s, static_cast<call_frame&>(plain_of(l)).place, l);
    }
    has_any_.store(false, std::memory_order_relaxed);  // last: no call is missed meanwhile
  }
  while (!calls.empty()) {
    const link l = take_first(calls);
    auto& call = static_cast<call_frame&>(plain_of(l));
    if (!colors_.enter_for(s, call.place)) {
      colors_.bring(s, call.place, l);
      continue;
    }
    const context_note outer = std::exchange(w.context_now, w.root_context);
    call_frame::run(&call, nullptr);
    w.context_now = outer;
  }
}

/// Drops the calls that drain() left: they are never made.
void posted_calls::drop() noexcept {
  while (!calls_.empty()) {
    const link l = calls_.first;
    calls_.first = next_of(l);
    frame& f = plain_of(l);
    f.destroy(&f, nullptr);
  }
}

}  // namespace heddle

// SPDX-License-Identifier: MIT
// Colors on a worker: posting to one, entering and leaving one, and bringing completions and timers
// to theirs. With one worker no step here is atomic.
#include <algorithm>
#include <utility>

#include "heddle/core/detail/plain_wait.hh"
#include "sched/color_runner.hh"

namespace heddle {
namespace {

/// The next color, if there is one worker.
template <bool instrumented>
color_record* next_alone(run_queue& queue, worker& w) noexcept {
  color_record* const r = instrumented ? queue.pop() : queue.pop_in_order();
  if (r != nullptr) r->queued = false;
  w.colors_wait = !queue.empty();
  return r;
}

}  // namespace

color_runner::~color_runner() {
  if (!all_ended) return;
  for (const auto& s : all_.seats)
    if (s->held != nullptr || !s->queue.empty()) return;  // a color that never ran has frames
  for (color_record* r = used_.load(); r != nullptr;)
    if (!table_.clear(*std::exchange(r, r->next_used))) return;
  table_.keep_cleared();
}

/// When a color runs for the first time, gives it a root for tasks without an owner, for good.
void color_runner::make_root(seat& s, color_record& r) noexcept {
  worker& w = s.w;
  r.place_ = table_.place_of(r);
  r.root = new (w.memory.allocate(sizeof(scope))) scope(w, scope::kind::root);
  r.root->context_of_tasks().color = r.place_;
  if (draining) r.root->context_of_tasks().cancel(w);
  r.next_used = used_.load(std::memory_order_relaxed);
  while (!used_.compare_exchange_weak(r.next_used, &r, std::memory_order_release,
                                      std::memory_order_relaxed)) {
  }
}

/// Makes a color the running one. If there are several workers, this one holds the record. No color
/// is entered before.
void color_runner::enter(seat& s, color_record& r) noexcept {
  static constexpr auto make_current = [](worker& w, const color_record& it) {
    w.color = it.place_;
    w.root_scope = it.root;
    w.context_now = w.root_context = it.root->context_of_tasks();
    w.guards = it.guards;
    w.foreign_slots = it.foreign_slots;
  };
  worker& w = s.w;
  s.held = &r;
  if (all_.shared) {
    s.in_hand.store(&r, std::memory_order_relaxed);
    // release: pairs with the acquire in quiet_colors, which reads this one before in_hand
    s.taken.store(nullptr, std::memory_order_release);
    r.inbox.take(r.waiting);
  }
  w.ready.append(r.waiting);
  if (r.root == nullptr) [[unlikely]] {
    // A function of its own, because the common path would have to save registers for it.
    const auto first_time = [](color_runner& its, seat& at, color_record& it)
                                __attribute__((noinline)) {
                                  at.w.color = its.table_.place_of(it);
                                  its.make_root(at, it);
                                  make_current(at.w, it);
                                };
    first_time(*this, s, r);
    return;
  }
  make_current(w, r);
}

void color_runner::count_root(color_record& r) noexcept {
  const bool live = r.root->live() != 0;
  if (live == r.counted) return;
  r.counted = live;
  if (all_.shared) {
    live_roots_.fetch_add(live ? 1 : -1, std::memory_order_relaxed);
  } else {
    live_roots_.store(live_roots_.load(std::memory_order_relaxed) + (live ? 1 : -1),
                      std::memory_order_relaxed);
  }
}

void color_runner::leave_plain(seat& s) noexcept {
  worker& w = s.w;
  color_record& r = *std::exchange(s.held, nullptr);
  r.guards = w.guards;
  r.foreign_slots = w.foreign_slots;
  count_root(r);
  w.color = no_color;
  const bool more = !w.ready.empty();
  w.ready.move_to(r.waiting);
  if (all_.shared) {
    if (more || !r.inbox.let_go()) queue(s, r, r.waiting.first);
    s.in_hand.store(nullptr, std::memory_order_release);  // release: pairs as in enter()
  } else if (more && !r.queued) {
    queue(s, r, r.waiting.first);
  }
}

void color_runner::leave(seat& s) noexcept {
  if (s.tasks != nullptr) [[unlikely]]
    s.tasks->give_back(s.w.ready);
  leave_plain(s);
}

/// Holds an idle color; for several workers. False also while another worker inspects all colors.
bool color_runner::hold_idle(seat& s, color_record& r) noexcept {
  s.taken.store(&r, std::memory_order_relaxed);
  const bool got = r.inbox.hold();
  if (got && !(all_.pause.asked() && all_.in_world && !all_.simulated)) [[likely]]
    return true;
  if (got && !r.inbox.let_go()) queue(s, r, r.inbox.newest());
  s.taken.store(nullptr, std::memory_order_release);
  return false;
}

bool color_runner::enter_other(seat& s, std::uint32_t place) noexcept {
  color_record& r = table_[place];
  if (all_.shared && !hold_idle(s, r)) return false;
  if (s.held != nullptr) leave(s);
  enter(s, r);
  if (s.w.foreign_slots != 0) [[unlikely]]
    detail::cut_loop_slots(s.w);
  return true;
}

/// Queues a color that has work now. `first` is the frame that waits longest, if that is known.
void color_runner::queue(seat& s, color_record& r, link first) noexcept {
  const auto put = []<bool instrumented>(color_runner& its, seat& from, color_record& it,
                                         std::bool_constant<instrumented>) {
    if (its.all_.shared) {
      // The worker where the color ran last or, the first time, the one that its number gives.
      const std::size_t home =
          it.last_worker != 0 ? it.last_worker - 1U : it.place_ % its.all_.seats.size();
      its.push(from, *its.all_.seats[home], it);
      return;
    }
    it.queued = true;
    if (instrumented) {
      from.queue.push(it);
    } else {
      from.queue.push_in_order(it);
    }
    from.w.colors_wait = true;
  };
  if (all_.instrumented || r.root == nullptr) [[unlikely]] {
    const auto note_and_put = [put](color_runner& its, seat& from, color_record& it,
                                    link queued) __attribute__((noinline)) {
      const link l = detail::coroutine_behind(queued);
      if (its.all_.options.watch) it.ready_since = from.w.now;
      if (from.queue.policy() != nullptr && from.queue.policy()->uses_deadlines()) {
        it.deadline_ = never;
        if (l != no_link && !is_plain(l) && promise_of(l).context_low != 0)
          it.deadline_ = from.w.context_at(promise_of(l).context_low).deadline();
      }
      it.place_ = its.table_.place_of(it);
      put(its, from, it, std::true_type());
    };
    note_and_put(*this, s, r, first);
    return;
  }
  put(*this, s, r, std::false_type());
}

void color_runner::post(seat& s, std::uint32_t place, link l) noexcept {
  color_record& r = table_[place];
  if (all_.shared) {
    // Often several frames in turn go to one color; the last of them is then still the newest
    // there.
    link newest = s.sent_to == &r ? s.sent_last : color_inbox<std::atomic<link>>::busy;
    const bool was_idle = r.inbox.send(l, newest);
    s.sent_to = &r;
    s.sent_last = newest > color_inbox<std::atomic<link>>::busy ? l : newest;
    if (was_idle) queue(s, r, l);
    return;
  }
  r.waiting.push(l);
  if (!r.queued) queue(s, r, l);
}

/// Runs up to `limit` frames of the current color in the order of the task policy.
template <bool shared>
std::size_t color_runner::run_in_order(seat& s, std::size_t limit) noexcept {
  std::size_t ran = 0;
  while (ran != limit && s.tasks->choose(s.w.ready)) {
    if (all_.options.slow_handler > nanoseconds::zero()) {
      ran += run_watched(s, 1);
    } else {
      ran += shared ? s.w.run_ready(1, s.went_on_at) : s.w.run_ready(1);
    }
  }
  s.tasks->tidy(s.w.ready);
  return ran;
}

/// Runs up to `limit` frames of the current color.
template <bool shared, bool instrumented>
std::size_t color_runner::run_frames(seat& s, std::size_t limit) noexcept {
  s.running = true;
  const std::size_t ran = instrumented && s.tasks != nullptr ? run_in_order<shared>(s, limit)
                          : instrumented && all_.options.slow_handler > nanoseconds::zero()
                              ? run_watched(s, limit)
                          : shared ? s.w.run_ready(limit, s.went_on_at)
                                   : s.w.run_ready(limit);
  s.running = false;
  return ran;
}

/// Runs up to `limit` frames, a bounded batch of each color in turn. Returns whether any ran.
bool color_runner::run(seat& s, std::size_t limit) noexcept {
  // Instantiated four times (one or several workers, instrumented or not), to keep the checks out
  // of the hot loop.
  const auto run_as = [this, &s, limit]<bool shared, bool instrumented>(
                          std::bool_constant<shared>, std::bool_constant<instrumented>) {
    worker& w = s.w;
    std::size_t left = limit;
    while (left != 0) {
      if (shared && s.held != nullptr) {  // frames that came while it was held
        s.held->inbox.take(s.held->waiting);
        w.ready.append(s.held->waiting);
      }
      if (w.ready.empty() || !s.queue.empty()) {
        color_record* const after = shared ? next(s) : next_alone<instrumented>(s.queue, w);
        if (after == nullptr) {
          if (w.ready.empty()) break;
        } else if (after != s.held) {
          if (s.held != nullptr) instrumented ? leave(s) : leave_plain(s);
          enter(s, *after);
          ++s.count.turns;
          ++after->turns;
          const auto here = static_cast<std::uint16_t>(w.index + 1);
          if (after->last_worker != here) {
            if (after->last_worker != 0) ++after->moves;
            after->last_worker = here;
          }
          if (w.ready.empty()) continue;
        }
      }
      color_record& r = *s.held;
      policy* const p = instrumented ? s.queue.policy() : nullptr;
      const bool timed = instrumented && (all_.options.watch || (p != nullptr && p->uses_time()));
      if (timed) [[unlikely]] {
        s.turn_began = s.io->now();
        if (all_.options.watch && r.ready_since != time_point{}) {
          const nanoseconds waited = s.turn_began - std::exchange(r.ready_since, time_point{});
          r.waited += waited;
          r.waited_most = std::max(r.waited_most, waited);
        }
      }
      const std::size_t ran = run_frames<shared, instrumented>(
          s, s.queue.empty() ? left : std::min(left, all_.options.color_batch));
      left -= std::min(left, ran);
      r.frames += ran;
      if (timed) [[unlikely]] {
        w.now = s.io->now();
        nanoseconds took = w.now - s.turn_began;
        r.run += took;
        r.longest = std::max(r.longest, took);
        if (all_.simulated || took == nanoseconds::zero()) took = std::chrono::microseconds(ran);
        if (p != nullptr && p->uses_time()) {
          if (shared) s.queue.lock.lock();
          p->ran(r, took);
          if (shared) s.queue.lock.unlock();
        }
      }
      if (!s.queue.empty()) instrumented ? leave(s) : leave_plain(s);
    }
    return left != limit;
  };
  if (all_.instrumented)
    return all_.shared ? run_as(std::true_type(), std::true_type())
                       : run_as(std::false_type(), std::true_type());
  return all_.shared ? run_as(std::true_type(), std::false_type())
                     : run_as(std::false_type(), std::false_type());
}

}  // namespace heddle

// SPDX-License-Identifier: MIT
// Several workers: whose color runs where, who sleeps, who is woken, who takes from whom, and all
// of it on one thread under the simulation.
#include <signal.h>

#include <algorithm>

#include "sched/rest.hh"
#include "sched/seat.hh"

namespace heddle {
namespace {

constexpr nanoseconds nap_least = std::chrono::milliseconds(1);
constexpr nanoseconds nap_most = std::chrono::milliseconds(16);
constexpr unsigned spins_after_hit = 8;  // sleeps that are preceded by a spin, after one that paid

std::int64_t since_epoch(time_point t) noexcept { return t.time_since_epoch().count(); }

}  // namespace

/// With several workers; one alone takes what is first in its queue.
color_record* runtime::next_color(seat& s) noexcept {
  color_record* r = nullptr;
  if (!s.queue.empty()) {
    s.queue.lock.lock();
    r = s.queue.pop();
    s.queue.lock.unlock();
  }
  s.w.colors_wait = !s.queue.empty();
  if (r == nullptr && s.w.ready.empty() && options_.stealing) r = steal(s);
  return r;
}

/// Takes colors from a worker that has more than it can look after: two that wait, or one that has
/// waited behind a long run. The first is to run now, half of the rest comes along.
color_record* runtime::steal(seat& s) noexcept {
  const std::size_t n = seats_.size();
  for (std::size_t i = 1; i != n; ++i) {
    seat& from = *seats_[(s.w.index + i) % n];
    const std::uint32_t waiting = from.queue.size();
    if (waiting == 0) continue;
    if (waiting == 1 && !simulated_) {
      const std::int64_t since =
          since_epoch(s.io->now()) - from.round_at.load(std::memory_order_relaxed);
      if (since < options_.steal_after.count()) continue;
    }
    if (!from.queue.lock.try_lock()) continue;
    color_record* const first = from.queue.pop();
    constexpr std::uint32_t along_max = 16;
    color_record* along[along_max];
    std::uint32_t count = 0;
    for (std::uint32_t half = from.queue.size() / 2; count != std::min(half, along_max); ++count)
      along[count] = from.queue.pop();
    if (policy* const p = from.queue.policy(); p != nullptr && first != nullptr) {
      p->left(*first);
      for (std::uint32_t k = 0; k != count; ++k)
        if (along[k] != nullptr) p->left(*along[k]);
    }
    from.queue.lock.unlock();
    if (first == nullptr) continue;
    s.count.steals += count + 1;
    if (count != 0) {
      s.queue.lock.lock();
      for (std::uint32_t k = 0; k != count; ++k)
        if (along[k] != nullptr) s.queue.push(*along[k]);
      s.queue.lock.unlock();
      s.w.colors_wait = true;
    }
    return first;
  }
  return nullptr;
}

/// Queues a busy color at a worker, and wakes who should know.
void runtime::push_color(seat& from, seat& to, color_record& r) noexcept {
  to.queue.lock.lock();
  to.queue.push(r);
  const std::uint32_t waiting = to.queue.size();
  const bool slept = std::exchange(to.queue.parked, false);
  if (slept) to.woken_by_push = true;
  to.queue.lock.unlock();
  if (&to == &from) {
    from.w.colors_wait = true;
  } else if (slept && !simulated_) {
    ++from.count.wakes;
    to.io->wake();
    return;
  }
  // Something waits behind what runs there: somebody who rests can do it. One color alone is worth
  // no wake-up, because it may well be next; but if that takes long, somebody must have seen it.
  const bool nobody_looks =
      &to == &from && asleep_.load(std::memory_order_relaxed) + 1 == seats_.size();
  if ((waiting > 1 || nobody_looks) && options_.stealing &&
      resting_.load(std::memory_order_relaxed) != 0)
    wake_one(from);
}

void runtime::wake_one(seat& from) noexcept {
  if (simulated_) return;
  for (const auto& each : seats_) {
    seat& s = *each;
    if (!s.parked.load(std::memory_order_relaxed)) continue;
    s.queue.lock.lock();
    const bool slept = std::exchange(s.queue.parked, false);
    if (std::exchange(s.asleep, false)) asleep_.fetch_sub(1, std::memory_order_relaxed);
    s.queue.lock.unlock();
    if (!slept) continue;
    ++from.count.wakes;
    s.io->wake();
    return;
  }
}

/// From here on whoever pushes wakes us; false when something was pushed before.
bool runtime::park(seat& s, bool hopeless, bool looks_again) noexcept {
  s.queue.lock.lock();
  if (!s.queue.empty() || s.letters != nullptr) {
    s.queue.lock.unlock();
    return false;
  }
  s.queue.parked = true;
  s.asleep = !looks_again;
  if (s.asleep) asleep_.fetch_add(1, std::memory_order_relaxed);
  ++s.queue.sleeps;
  s.woken_by_push = false;
  s.queue.lock.unlock();
  ++s.count.parks;
  s.pending.store(s.io->pending(), std::memory_order_relaxed);
  s.hopeless.store(hopeless, std::memory_order_relaxed);
  resting_.fetch_add(1, std::memory_order_relaxed);
  // seq_cst: of the workers that give up hope one after the other, the last sees all.
  s.parked.store(true, std::memory_order_seq_cst);
  if (hopeless && s.w.index != 0 && rest_for_good(1)) seats_[0]->io->wake();
  return true;
}

void runtime::unpark(seat& s) noexcept {
  s.queue.lock.lock();
  if (!std::exchange(s.queue.parked, false)) s.calm = false;
  if (std::exchange(s.asleep, false)) asleep_.fetch_sub(1, std::memory_order_relaxed);
  const bool pushed = s.woken_by_push;
  s.queue.lock.unlock();
  s.parked.store(false, std::memory_order_seq_cst);
  s.hopeless.store(false, std::memory_order_relaxed);
  resting_.fetch_sub(1, std::memory_order_relaxed);
  if (pushed) s.spins_left = spins_after_hit;
}

/// The number of its sleep, if nobody has sent it anything since it began; else 0.
std::uint64_t runtime::sleep_of(seat& s) noexcept {
  s.queue.lock.lock();
  const bool asleep = s.queue.parked && s.queue.empty() && s.letters == nullptr;
  const std::uint64_t number = asleep ? s.queue.sleeps : 0;
  s.queue.lock.unlock();
  return number;
}

/// The workers from this one on sleep, and nothing of theirs can come any more.
bool runtime::rest_for_good(std::size_t from) const noexcept {
  return rest_together(seats_.size() - from, [this, from](std::size_t i) -> std::uint64_t {
    seat& s = *seats_[from + i];
    const bool for_good =
        s.parked.load(std::memory_order_seq_cst) && s.hopeless.load(std::memory_order_relaxed);
    return for_good ? sleep_of(s) : 0;
  });
}

/// Looks out for what other workers send before it sleeps, if that paid lately. The color that ran
/// last stays held, so that a message to it needs no queue.
bool runtime::spin_for_work(seat& s) noexcept {
  if (s.spins_left == 0 || options_.spin <= nanoseconds::zero()) return false;
  const time_point end = s.io->now() + options_.spin;
  do {
    for (int i = 0; i < 64; ++i) {
      if (s.held != nullptr && s.held->inbox.has_more()) {
        s.held->inbox.take(s.held->waiting);
        s.w.ready.append(s.held->waiting);
        s.spins_left = spins_after_hit;
        return true;
      }
      if (!s.queue.empty()) {
        s.spins_left = spins_after_hit;
        return true;
      }
      short_lock::pause();
    }
    if (pause_->asked()) return false;
  } while (s.io->now() < end);
  --s.spins_left;
  return false;
}

void runtime::send_mail(seat& to, mail& m) noexcept {
  to.queue.lock.lock();
  m.after = to.letters.load(std::memory_order_relaxed);
  to.letters.store(&m, std::memory_order_relaxed);
  const bool slept = std::exchange(to.queue.parked, false);
  to.queue.lock.unlock();
  if (slept) to.io->wake();
}

void runtime::read_mail(seat& s) noexcept {
  s.queue.lock.lock();
  mail* m = s.letters.load(std::memory_order_relaxed);
  s.letters.store(nullptr, std::memory_order_relaxed);
  s.queue.lock.unlock();
  while (m != nullptr) {
    mail* const after = m->after;
    if (m->op->held) s.io->cancel(*m->op, s.w);
    s.w.post_to(m->color, link_of(*m));
    m = after;
  }
}

bool runtime::turn_shared(seat& s, bool may_sleep) {
  worker& w = s.w;
  const bool ran = run_colors(s, options_.batch);
  w.now = s.io->now();
  s.round_at.store(since_epoch(w.now), std::memory_order_relaxed);
  bool more = !w.ready.empty() || !s.queue.empty();
  if (more && w.now - s.polled_at < options_.poll_interval) return true;
  if (ran && !more && may_sleep) {
    s.nap = nap_least;
    s.calm = false;
    return true;  // the next turn looks at I/O and may sleep
  }
  if (s.letters.load(std::memory_order_relaxed) != nullptr) read_mail(s);
  if (w.index == 0) {
    if (has_posted_.load(std::memory_order_acquire)) run_posted();
  }
  if (!more && !s.preblock.empty()) run_preblock(s);
  more = !w.ready.empty() || !s.queue.empty();
  time_point until = time_point::min();
  bool parked = false;
  if (may_sleep && !more) {
    if (spin_for_work(s)) return true;
    if (s.held != nullptr) leave_color(s);
    s.wheel_lock.lock();
    until = s.wheel.next_due();
    s.wheel_lock.unlock();
    const bool hopeless = until == never && !anything_outside(s);
    // While others work, something may come to wait behind a long run of theirs.
    const bool others_work = resting_.load(std::memory_order_relaxed) + 1 != seats_.size();
    const bool looks_again = options_.stealing && (others_work || !s.calm);
    if (looks_again) {
      s.nap = others_work ? std::clamp(s.nap * 2, nap_least, nap_most) : nap_most;
      s.calm = !others_work;
      until = std::min(until, add_saturated(w.now, s.nap));
    }
    parked = park(s, hopeless, looks_again);
    if (!parked) return true;
    if (hopeless && w.index == 0 && rest_for_good(0)) {
      unpark(s);
      return false;
    }
    if (pause_->asked()) until = time_point::min();
  }
  s.io->turn(w, until);
  if (parked) unpark(s);
  w.now = s.polled_at = s.io->now();
  s.round_at.store(since_epoch(w.now), std::memory_order_relaxed);
  expire(s);
  if (w.index == 0 && has_posted_.load(std::memory_order_acquire)) run_posted();
  w.memory.collect_remote();
  return may_sleep || !w.ready.empty() || !s.queue.empty();
}

/// Between two turns, because somebody asked for it.
void runtime::stand_still(seat& s) noexcept {
  if (s.held != nullptr) leave_color(s);
  s.w.memory.collect_remote();
}

void runtime::run_worker(seat& s) noexcept {
  heddle_current_worker = &s.w;
  for (;;) {
    if (pause_->asked()) {
      stand_still(s);
      if (!pause_->wait()) break;
    }
    turn_shared(s, true);
  }
  heddle_current_worker = nullptr;
}

/// What was queued in the name of color 0, while that stood in a queue, goes there.
void runtime::stop_speaking() noexcept {
  seat& s = *seats_[0];
  if (!shared_ || s.held != nullptr || s.w.color == no_color) return;
  color_record& first = (*colors_)[0];
  first.guards = s.w.guards;
  first.foreign_slots = s.w.foreign_slots;
  s.w.color = no_color;
  while (!s.w.ready.empty()) post(s.w, 0, s.w.ready.pop());
}

/// The other workers run from here on.
void runtime::begin_world() {
  if (!shared_ || in_world_) return;
  stop_speaking();
  in_world_ = true;
  if (simulated_) return;
  for (const auto& s : seats_) {
    if (s->w.index == 0 || s->thread.joinable()) continue;
    sigset_t all, before;  // signals belong to who asked for them, on the first thread
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      s->thread = std::thread([this, seat = s.get()] { run_worker(*seat); });
    } catch (...) {
      ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
      in_world_ = false;
      throw;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  pause_->end();
}

/// The first thread is alone again, and is color 0.
void runtime::end_world() noexcept {
  seat& s = *seats_[0];
  if (in_world_ && !simulated_) {
    std::unique_lock turn_to_look(pause_->one_at_a_time, std::defer_lock);
    while (!turn_to_look.try_lock()) {  // another worker looks at everything, and waits for us
      if (pause_->asked()) {
        stand_still(s);
        static_cast<void>(pause_->wait());
      }
      std::this_thread::yield();
    }
    pause_->begin(seats_.size() - 1, true, [this] {
      for (const auto& each : seats_)
        if (each->w.index != 0) each->io->wake();
    });
  }
  in_world_ = false;  // now that nobody else looks at it
  if (s.w.color == 0) return;
  if (!shared_) {
    static_cast<void>(enter_for(s, 0));
    return;
  }
  if (s.held != nullptr) leave_color(s);
  color_record& first = (*colors_)[0];
  if (first.inbox.hold()) {
    enter_color(s, first);
    return;
  }
  // It has work and stands in a queue: we only speak in its name until the next run.
  s.w.color = 0;
  s.w.root_scope = first.root;
  s.w.root_context = s.w.context_now = first.root->context_of_tasks();
  s.w.guards = first.guards;
  s.w.foreign_slots = first.foreign_slots;
}

/// All workers on one thread: one of them, drawn by the seed, runs a few frames; sometimes the
/// driver is looked at in between.
bool runtime::turn_simulated(bool may_sleep) {
  const auto draw = [this](std::uint64_t below) {
    draw_ = draw_ * 6364136223846793005 + 1442695040888963407;
    return (draw_ >> 33) % below;
  };
  const std::size_t n = seats_.size();
  const std::size_t first = draw(n);
  bool ran = false;
  for (std::size_t i = 0; i != n && !ran; ++i) {
    seat& s = *seats_[(first + i) % n];
    heddle_current_worker = &s.w;
    s.w.now = s.io->now();
    ran = run_colors(s, 1 + draw(options_.color_batch));
    if (s.held != nullptr) leave_color(s);
    s.w.memory.collect_remote();
  }
  seat& s = *seats_[draw(n)];
  heddle_current_worker = &s.w;
  const bool looks = !ran || draw(4) == 0;
  bool comes = true;
  if (looks) {
    if (has_posted_.load(std::memory_order_acquire)) run_posted();
    for (const auto& each : seats_) {
      if (ran || each->preblock.empty()) continue;
      heddle_current_worker = &each->w;
      run_preblock(*each);
    }
    heddle_current_worker = &s.w;
    bool more = ran;
    time_point due = never;
    for (const auto& each : seats_) {
      more = more || !each->queue.empty();
      due = std::min(due, each->wheel.next_due());
    }
    time_point until = time_point::min();
    if (!more && may_sleep) {
      until = due;
      if (until == never && !anything_outside(s)) comes = false;
    }
    if (comes) {
      s.io->turn(s.w, until);
      if (until == never && s.io->stalled() && !has_posted_.load()) comes = false;
      if (s.held != nullptr) leave_color(s);
      for (const auto& each : seats_) {
        heddle_current_worker = &each->w;
        each->w.now = each->io->now();
        expire(*each);
        if (each->held != nullptr) leave_color(*each);
      }
    }
  }
  heddle_current_worker = &seats_[0]->w;
  seats_[0]->w.now = seats_[0]->io->now();
  return comes;
}

}  // namespace heddle

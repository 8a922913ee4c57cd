// SPDX-License-Identifier: MIT
// Colors on a worker: posting to one, entering and leaving one, and bringing completions and timers
// to theirs. With one worker no step here is atomic.
#include <algorithm>

#include "sched/seat.hh"

namespace heddle {
namespace {

/// One worker's next color.
template <bool noted>
color_record* next_alone(run_queue& queue, worker& w) noexcept {
  color_record* const r = noted ? queue.pop() : queue.pop_in_order();
  if (r != nullptr) r->queued = false;
  w.colors_wait = !queue.empty();
  return r;
}

}  // namespace

runtime::seat& runtime::seat_of(const worker& w) noexcept { return *seats_[w.index]; }

/// The first time that a color runs: it gets a root for tasks without an owner, for good.
void runtime::make_root(seat& s, color_record& r) noexcept {
  worker& w = s.w;
  r.place_ = colors_->place_of(r);
  r.root = new (w.memory.allocate(sizeof(scope))) scope(w, scope::kind::root);
  r.root->context_of_tasks().color = r.place_;
  if (draining_) r.root->context_of_tasks().cancel(w);
  r.next_used = used_.load(std::memory_order_relaxed);
  while (!used_.compare_exchange_weak(r.next_used, &r, std::memory_order_release,
                                      std::memory_order_relaxed)) {
  }
}

/// The record is held, or there is one worker; no color is entered.
void runtime::enter_color(seat& s, color_record& r) noexcept {
  static constexpr auto make_current = [](worker& w, const color_record& it) {
    w.color = it.place_;
    w.root_scope = it.root;
    w.context_now = w.root_context = it.root->context_of_tasks();
    w.guards = it.guards;
    w.foreign_slots = it.foreign_slots;
  };
  worker& w = s.w;
  s.held = &r;
  if (shared_) r.inbox.take(r.waiting);
  w.ready.append(r.waiting);
  if (r.root == nullptr) [[unlikely]] {
    // Apart, like all that is rare here: it would save registers that nobody else needs.
    const auto first_time = [](runtime& rt, seat& at, color_record& it) __attribute__((noinline)) {
      at.w.color = rt.colors_->place_of(it);
      rt.make_root(at, it);
      make_current(at.w, it);
    };
    first_time(*this, s, r);
    return;
  }
  make_current(w, r);
}

void runtime::count_root(color_record& r) noexcept {
  const bool live = r.root->live() != 0;
  if (live == r.counted) return;
  r.counted = live;
  if (shared_) {
    live_roots_.fetch_add(live ? 1 : -1, std::memory_order_relaxed);
  } else {
    live_roots_.store(live_roots_.load(std::memory_order_relaxed) + (live ? 1 : -1),
                      std::memory_order_relaxed);
  }
}

void runtime::leave_color(seat& s) noexcept {
  worker& w = s.w;
  color_record& r = *std::exchange(s.held, nullptr);
  r.guards = w.guards;
  r.foreign_slots = w.foreign_slots;
  count_root(r);
  w.color = no_color;
  const bool more = !w.ready.empty();
  w.ready.move_to(r.waiting);
  if (shared_) {
    if (more || !r.inbox.let_go()) queue_color(s, r, r.waiting.first);
  } else if (more && !r.queued) {
    queue_color(s, r, r.waiting.first);
  }
}

/// Makes a color the current one between frames; false when another worker holds it, or it stands
/// in a queue that others may take it from.
bool runtime::enter_for(seat& s, std::uint32_t place) noexcept {
  if (s.w.color == place) return true;
  color_record& r = (*colors_)[place];
  if (shared_ && !r.inbox.hold()) return false;
  if (s.held != nullptr) leave_color(s);
  enter_color(s, r);
  return true;
}

/// A color that has work now: `first` is, if known, the frame that waits longest.
void runtime::queue_color(seat& s, color_record& r, link first) noexcept {
  const auto push = []<bool noted>(runtime& rt, seat& from, color_record& it,
                                   std::bool_constant<noted>) {
    if (rt.shared_) {
      // Where it ran last, or, the first time, wherever its number says.
      const std::size_t home =
          it.last_worker != 0 ? it.last_worker - 1U : it.place_ % rt.seats_.size();
      rt.push_color(from, *rt.seats_[home], it);
      return;
    }
    it.queued = true;
    if (noted) {
      from.queue.push(it);
    } else {
      from.queue.push_in_order(it);
    }
    from.w.colors_wait = true;
  };
  if (noted_ || r.root == nullptr) [[unlikely]] {
    const auto note_and_push = [push](runtime& rt, seat& from, color_record& it,
                                      link l) __attribute__((noinline)) {
      if (rt.options_.watch) it.ready_since = from.w.now;
      if (from.queue.policy() != nullptr && from.queue.policy()->uses_deadlines()) {
        it.deadline_ = never;
        if (l != no_link && !is_plain(l) && promise_of(l).context_low != 0)
          it.deadline_ = from.w.context_at(promise_of(l).context_low).deadline();
      }
      it.place_ = rt.colors_->place_of(it);
      push(rt, from, it, std::true_type());
    };
    note_and_push(*this, s, r, first);
    return;
  }
  push(*this, s, r, std::false_type());
}

void runtime::post(worker& w, std::uint32_t place, link l) noexcept {
  color_record& r = (*colors_)[place];
  seat& s = seat_of(w);
  if (shared_) {
    // Often several are sent to one color in turn, and then the last one is still the newest there.
    link newest = s.sent_to == &r ? s.sent_last : color_inbox<std::atomic<link>>::busy;
    const bool was_idle = r.inbox.send(l, newest);
    s.sent_to = &r;
    s.sent_last = newest > color_inbox<std::atomic<link>>::busy ? l : newest;
    if (was_idle) queue_color(s, r, l);
    return;
  }
  r.waiting.push(l);
  if (!r.queued) queue_color(s, r, l);
}

/// Up to `limit` frames of the current color.
template <bool noted>
std::size_t runtime::run_frames(seat& s, std::size_t limit) noexcept {
  s.running = true;
  const std::size_t ran = noted && options_.slow_handler > nanoseconds::zero()
                              ? run_watched(s, limit)
                              : s.w.run_ready(limit);
  s.running = false;
  return ran;
}

/// Runs up to `limit` frames, a bounded batch of each color in turn. Whether any ran.
bool runtime::run_colors(seat& s, std::size_t limit) noexcept {
  // In versions, so that a worker alone asks nothing that only several must, and nobody asks what
  // only those must who note something about turns.
  const auto run = [this, &s, limit]<bool shared, bool noted>(std::bool_constant<shared>,
                                                              std::bool_constant<noted>) {
    worker& w = s.w;
    std::size_t left = limit;
    while (left != 0) {
      if (shared && s.held != nullptr) {  // what came while it was held
        s.held->inbox.take(s.held->waiting);
        w.ready.append(s.held->waiting);
      }
      if (w.ready.empty() || !s.queue.empty()) {
        color_record* const next = shared ? next_color(s) : next_alone<noted>(s.queue, w);
        if (next == nullptr) {
          if (w.ready.empty()) break;
        } else if (next != s.held) {
          if (s.held != nullptr) leave_color(s);
          enter_color(s, *next);
          ++s.count.turns;
          ++next->turns;
          const auto here = static_cast<std::uint16_t>(w.index + 1);
          if (next->last_worker != here) {
            if (next->last_worker != 0) ++next->moves;
            next->last_worker = here;
          }
          if (w.ready.empty()) continue;
        }
      }
      color_record& r = *s.held;
      policy* const p = noted ? s.queue.policy() : nullptr;
      const bool timed = noted && (options_.watch || (p != nullptr && p->uses_time()));
      if (timed) [[unlikely]] {
        s.turn_began = s.io->now();
        if (options_.watch && r.ready_since != time_point{}) {
          const nanoseconds waited = s.turn_began - std::exchange(r.ready_since, time_point{});
          r.waited += waited;
          r.waited_most = std::max(r.waited_most, waited);
        }
      }
      const std::size_t ran =
          run_frames<noted>(s, s.queue.empty() ? left : std::min(left, options_.color_batch));
      left -= std::min(left, ran);
      r.frames += ran;
      if (timed) [[unlikely]] {
        w.now = s.io->now();
        nanoseconds took = w.now - s.turn_began;
        r.run += took;
        r.longest = std::max(r.longest, took);
        if (simulated_ || took == nanoseconds::zero()) took = std::chrono::microseconds(ran);
        if (p != nullptr && p->uses_time()) {
          if (shared) s.queue.lock.lock();
          p->ran(r, took);
          if (shared) s.queue.lock.unlock();
        }
      }
      if (!s.queue.empty()) leave_color(s);
    }
    return left != limit;
  };
  if (noted_)
    return shared_ ? run(std::true_type(), std::true_type())
                   : run(std::false_type(), std::true_type());
  return shared_ ? run(std::true_type(), std::false_type())
                 : run(std::false_type(), std::false_type());
}

bool runtime::complete(operation& op, worker& w, const completion& c) noexcept {
  seat& s = seat_of(w);
  const bool here = w.color == op.color || (!s.running && enter_for(s, op.color));
  if (here && !op.cancel_out) [[likely]] {
    if (!c.more) op.pending = false;
    return op.complete(op, w, c);
  }
  // Another worker has the color, or a frame of another one runs: a message brings it. It also
  // waits for a request to cancel that is still on its way here, because that names the operation.
  struct bring {
    void operator()() {
      worker& at = worker::running();
      if (!c.more && op->cancel_out) {
        op->ended = true;
        op->driver_next = reinterpret_cast<operation*>(static_cast<std::intptr_t>(c.result));
        return;
      }
      if (!c.more) op->pending = false;
      const bool wanted = op->complete(*op, at, c);
      if (c.more && !wanted) runtime::here().cancel(*op, at);
    }
    operation* op;
    completion c;
  };
  ++s.count.messages;
  send_message(w, op.color, bring{&op, c});
  return true;
}

void runtime::cancel(operation& op, worker& w) noexcept {
  if (!op.pending || op.cancel_out) return;
  if (!shared_ || simulated_ || op.home == w.index) {
    driver_at(op.home).cancel(op, w);
    return;
  }
  op.cancel_out = true;
  auto* const m = new (w.memory.allocate(sizeof(mail))) mail{};
  m->op = &op;
  m->color = w.color;
  // What comes back: the operation may end now, if it has.
  m->resume = [](frame* f, heddle_worker* at) -> heddle_link {
    auto* const self = static_cast<mail*>(f);
    worker& here = *reinterpret_cast<worker*>(at);
    operation& asked = *self->op;
    std::destroy_at(self);
    here.memory.release(self, sizeof(mail));
    asked.cancel_out = false;
    if (std::exchange(asked.ended, false)) {
      asked.pending = false;
      const auto result = reinterpret_cast<std::intptr_t>(asked.driver_next);
      asked.complete(asked, here, {result, false, false, 0});
    }
    return no_link;
  };
  m->destroy = [](frame*, heddle_worker*) {};
  send_mail(*seats_[op.home], *m);
}

/// A timer on its way to its color; it can still be disarmed there.
struct runtime::timer_message : frame {
  timer_node* node = nullptr;

  static heddle_link run(frame* f, heddle_worker* at) {
    auto* const self = static_cast<timer_message*>(f);
    worker& now = *reinterpret_cast<worker*>(at);
    timer_node* const due = self->node;
    std::destroy_at(self);
    now.memory.release(self, sizeof(timer_message));
    if (due == nullptr) return no_link;
    due->on_its_way_ = false;
    due->shared_ = false;
    due->fire(now);
    return no_link;
  }
};

void runtime::arm(worker& w, timer_node& node, time_point due) noexcept {
  seat& s = seat_of(w);
  node.color = node.for_worker ? no_color : w.color;
  if (shared_) return arm_shared(s, node, due);
  s.wheel.arm(node, due);
}

void runtime::arm_shared(seat& s, timer_node& node, time_point due) noexcept {
  if (node.shared_) disarm_shared(node);
  s.wheel_lock.lock();
  node.home = static_cast<std::uint8_t>(s.w.index);
  node.shared_ = true;
  s.wheel.arm(node, due);
  s.wheel_lock.unlock();
}

void runtime::disarm_shared(timer_node& node) noexcept {
  seat& s = *seats_[node.home];
  s.wheel_lock.lock();
  if (std::exchange(node.on_its_way_, false)) {
    static_cast<timer_message*>(node.message_)->node = nullptr;
  } else {
    node.unlink();
  }
  node.shared_ = false;
  s.wheel_lock.unlock();
}

void timer_node::disarm_shared() noexcept { worker::here().sched.disarm_shared(*this); }

/// With one worker: in its color, at once.
void runtime::fire_timer(timer_node& node, worker& w) noexcept {
  if (!node.for_worker) static_cast<void>(enter_for(seat_of(w), node.color));
  node.fire(w);
}

void runtime::expire(seat& s) noexcept {
  worker& w = s.w;
  if (!shared_) {
    s.wheel.expire(
        w.now,
        [](timer_node& node, void* at) noexcept {
          auto& here = *static_cast<worker*>(at);
          static_cast<runtime&>(here.sched).fire_timer(node, here);
        },
        &w);
    return;
  }
  list<timer_node> of_worker;
  struct taking {
    seat& s;
    runtime& rt;
    list<timer_node>& of_worker;
    frame_list sent;
  } context{s, *this, of_worker, {}};
  s.wheel_lock.lock();
  s.wheel.expire(
      w.now,
      [](timer_node& node, void* at) noexcept {
        auto& c = *static_cast<taking*>(at);
        if (node.for_worker) {
          c.of_worker.push_back(node);
          return;
        }
        worker& here = c.s.w;
        auto* const m = new (here.memory.allocate(sizeof(timer_message))) timer_message{};
        m->color = node.color;
        m->node = &node;
        m->destroy = [](frame*, heddle_worker*) {};
        m->resume = &timer_message::run;
        node.on_its_way_ = true;
        node.message_ = m;
        c.sent.push(link_of(*m));
      },
      &context);
  s.wheel_lock.unlock();
  while (!context.sent.empty()) {
    const link l = context.sent.first;
    context.sent.first = next_of(l);
    ++s.count.messages;
    w.post_to(plain_of(l).color, l);
  }
  while (timer_node* const node = of_worker.pop_front()) {
    node->shared_ = false;
    node->fire(w);
  }
}

}  // namespace heddle

// SPDX-License-Identifier: MIT
// Timers of colors: armed in the wheel of the worker that runs the color, fired in the color
// wherever it is by then.
#include "sched/color_timers.hh"

namespace heddle {

/// A timer on its way to its color; it can still be disarmed there.
struct timer_message : frame {
  timer_node* node = nullptr;
  std::uint32_t color = 0;

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

time_point color_timers::next_due(seat& s) noexcept {
  if (!all_.shared) {
    if (s.wheel.has_unsettled()) settle(s, s.io->now());
    return s.wheel.next_due();
  }
  s.wheel_lock.lock();
  if (s.wheel.has_unsettled()) s.wheel.settle(s.io->now());
  const time_point due = s.wheel.next_due();
  s.wheel_lock.unlock();
  return due;
}

/// Arms the node in the wheel of this worker, whichever worker's wheel it was in.
template <class Arm>
void color_timers::arm_shared_by(seat& s, timer_node& node, Arm arm) noexcept {
  if (node.shared_) disarm_shared(node);
  s.wheel_lock.lock();
  node.home = static_cast<std::uint8_t>(s.w.index);
  node.shared_ = true;
  arm(s.wheel);
  s.wheel_lock.unlock();
}

void color_timers::arm_shared(seat& s, timer_node& node, time_point due) noexcept {
  arm_shared_by(s, node, [&](timer_wheel& wheel) noexcept { wheel.arm(node, due); });
}
void color_timers::arm_shared_after(seat& s, timer_node& node, nanoseconds span) noexcept {
  arm_shared_by(s, node, [&](timer_wheel& wheel) noexcept { wheel.arm_after(node, span); });
}

void color_timers::disarm_shared(timer_node& node) noexcept {
  seat& s = *all_.seats[node.home];
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

/// Fires a timer in its color, at once; for one worker.
void color_timers::fire(timer_node& node, worker& w) noexcept {
  if (!node.for_worker) static_cast<void>(colors_.enter_for(all_.of(w), node.color));
  node.fire(w);
}

void color_timers::expire(seat& s) noexcept {
  worker& w = s.w;
  if (!all_.shared) {
    struct firing {
      color_timers& its;
      worker& w;
    } context{*this, w};
    s.wheel.expire(
        w.now,
        [](timer_node& node, void* at) noexcept {
          auto& c = *static_cast<firing*>(at);
          c.its.fire(node, c.w);
        },
        &context);
    return;
  }
  expire_shared(s, s);
}

/// Fires the timers of one worker's wheel that are due. The caller is that worker or another one.
void color_timers::expire_shared(seat& of, seat& by) noexcept {
  worker& w = by.w;
  constexpr nanoseconds while_memory_is_full = std::chrono::milliseconds(1);
  list<timer_node> of_worker, put_off;
  struct taking {
    seat& by;
    color_timers& its;
    list<timer_node>& of_worker;
    list<timer_node>& put_off;
    frame_list sent;
  } context{by, *this, of_worker, put_off, {}};
  of.wheel_lock.lock();
  // Another worker's `now` may be older than the last span that this wheel's worker armed.
  if (of.wheel.has_unsettled()) of.wheel.settle(&of == &by ? w.now : by.io->now());
  of.wheel.expire(
      w.now,
      [](timer_node& node, void* at) noexcept {
        auto& c = *static_cast<taking*>(at);
        if (node.for_worker) {
          c.of_worker.push_back(node);
          return;
        }
        worker& here = c.by.w;
        void* const cell = here.memory.try_allocate_urgent(sizeof(timer_message));
        if (cell == nullptr) {
          c.put_off.push_back(node);
          return;
        }
        auto* const m = new (cell) timer_message{};
        m->color = node.color;
        m->node = &node;
        m->destroy = [](frame*, heddle_worker*) {};
        m->resume = &timer_message::run;
        node.on_its_way_ = true;
        node.message_ = m;
        c.sent.push(link_of(*m));
      },
      &context);
  while (timer_node* const node = put_off.pop_front())
    of.wheel.arm(*node, add_saturated(w.now, while_memory_is_full));
  if (&of != &by) {  // the worker's own timers wait for the worker
    while (timer_node* const node = of_worker.pop_front()) of.wheel.arm(*node, node->due());
  }
  // The lock is kept meanwhile, because the wheel's worker and one that serves for it may both be
  // here: the timers of a color fire in the order of their times.
  while (!context.sent.empty()) {
    const link l = context.sent.first;
    context.sent.first = next_of(l);
    ++by.count.messages;
    colors_.bring(by, static_cast<timer_message&>(plain_of(l)).color, l);
  }
  of.wheel_lock.unlock();
  while (timer_node* const node = of_worker.pop_front()) {
    node->shared_ = false;
    node->fire(w);
  }
}

}  // namespace heddle

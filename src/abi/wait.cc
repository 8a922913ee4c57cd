// SPDX-License-Identifier: MIT
// Waits that are withdrawn, the arms of a choice, sleeping, yielding, deadlines.
#include "abi/waiting.hh"

#include "abi/part.hh"
#include "heddle/core/detail/plain_wait.hh"

namespace heddle::abi {

namespace {

constexpr std::uint32_t arm_waits = 1U << 2;  // the arm's frame is parked, or queued after its wake

struct sleep_wait : own_wait {
  struct alarm : timer_node {
    explicit alarm(sleep_wait& s) noexcept
        : timer_node(
              [](timer_node& t, worker& w) noexcept { wake(static_cast<alarm&>(t).owner, w); }),
          owner(s) {}
    sleep_wait& owner;
  };
  explicit sleep_wait(time_point when) noexcept : own_wait(kind_of_wait), due(when), timer(*this) {}
  [[nodiscard]] bool begin(heddle_frame& f, worker& w) noexcept {
    if (!own_wait::begin(f, w)) return false;
    w.sched.arm(w, timer, due);
    return true;
  }
  static const wait_kind kind_of_wait;
  time_point due;
  alarm timer;
};
const wait_kind sleep_wait::kind_of_wait{"sleep", [](wait& x, worker& w) noexcept {
                                           auto& self = static_cast<sleep_wait&>(x);
                                           self.canceled = true;
                                           self.timer.disarm();
                                           wake(self, w);
                                         }};

/// The content of a heddle_within.
struct bound : timer_node {
  bound() noexcept : timer_node(&reached) {}
  static void reached(timer_node& t, worker& w) noexcept { static_cast<bound&>(t).own->cancel(w); }
  context* own = nullptr;
};
static_assert(sizeof(bound) <= sizeof(heddle_within));

bound& bound_of(heddle_within* x) noexcept { return *std::launder(reinterpret_cast<bound*>(x)); }

/// Opens a context for the running frame; null without memory, and then nothing is bounded.
bound& open_bound(worker& w, heddle_within* x, heddle_frame* self) noexcept {
  auto* const b = new (x) bound();
  try {
    b->own = &context::open(w, &w.current_context());
  } catch (...) {
    b->own = nullptr;
    return *b;
  }
  w.context_now = *b->own;
  self->context = w.context_now;
  return *b;
}

}  // namespace

part& part_of(worker& w) {
  if (w.threads == nullptr) w.threads = std::make_unique<part>();
  return static_cast<part&>(*w.threads);
}

}  // namespace heddle::abi

using namespace heddle;
using namespace heddle::abi;

extern "C" {

void heddle_withdraw(heddle_worker* w, heddle_wait* at) {
  if (at->kind == nullptr) return;
  static_cast<const wait_ops*>(at->kind)->withdraw(*at, from(w));
}

heddle_frame* heddle_arm_of(heddle_worker* w, heddle_arm* a, heddle_frame* owner) {
  owner->context = from(w).context_now;
  if (a->wait.kind == nullptr) {  // asked for the first time
    a->frame.resume = &detail::arm_woken;
    a->frame.at = arm_waits;
    a->owner = owner;
  }
  return &a->frame;
}

void heddle_withdraw_arms(heddle_worker* hw, heddle_arm* arms, std::uint32_t count) {
  worker& w = from(hw);
  for (std::uint32_t i = 0; i != count; ++i) {
    heddle_arm& a = arms[i];
    heddle_withdraw(hw, &a.wait);
    // The frame of an arm that was woken and did not run is in the queue, if it parked at all.
    if (a.frame.at == arm_waits) w.all_ready().remove(link_of(a.frame));
    a.frame.at = 0;
    a.owner = nullptr;
  }
}

std::int64_t heddle_sleep(heddle_worker* hw, std::int64_t span, heddle_wait* at,
                          heddle_frame* self) {
  worker& w = from(hw);
  const std::int64_t status = ask<sleep_wait>(hw, at, self, [&] {
    return sleep_wait(add_saturated(w.sched.read_clock(), nanoseconds(span)));
  });
  if (status != 0) return status;
  const bool canceled = stored<sleep_wait>::of(*at).canceled;
  stored<sleep_wait>::end(*at, w);
  return canceled ? reason(w, -ECANCELED) : 0;
}

std::int64_t heddle_pause(heddle_worker* hw, heddle_wait* at, heddle_frame* self) {
  worker& w = from(hw);
  if (at->kind == nullptr) {
    static constexpr wait_ops paused{[](heddle_wait& x, worker&) noexcept { x.kind = nullptr; }};
    if (w.current_context().canceled()) return reason(w, -ECANCELED);
    at->kind = &paused;
    self->context = w.context_now;
    w.post(link_of(*self));
    return HEDDLE_PARKED;
  }
  at->kind = nullptr;
  return 0;
}

bool heddle_yield(heddle_worker* hw, heddle_frame* self) {
  worker& w = from(hw);
  part& p = part_of(w);
  if (--p.budget != 0) return false;
  p.budget = part::budget_full;
  self->context = w.context_now;
  w.post(link_of(*self));
  return true;
}

void heddle_within_open(heddle_worker* hw, heddle_within* x, heddle_frame* self,
                        std::int64_t span) {
  worker& w = from(hw);
  bound& b = open_bound(w, x, self);
  if (b.own == nullptr) return;
  const time_point due = span > 0 ? add_saturated(w.sched.read_clock(), nanoseconds(span)) : w.now;
  if (due >= b.own->deadline()) return;  // an outer deadline comes first
  b.own->set_deadline(due);
  if (due <= w.now) {
    b.own->cancel(w);
  } else {
    w.sched.arm(w, b, due);
  }
}

void heddle_shield_open(heddle_worker* hw, heddle_within* x, heddle_frame* self) {
  bound& b = open_bound(from(hw), x, self);
  if (b.own != nullptr) b.own->shield();
}

void heddle_within_close(heddle_worker* hw, heddle_within* x, heddle_frame* self) {
  worker& w = from(hw);
  bound& b = bound_of(x);
  b.disarm();
  if (b.own != nullptr) {
    w.context_now = *b.own->parent();
    self->context = w.context_now;
    context::close(w, *b.own);
  }
  std::destroy_at(&b);
}

std::int64_t heddle_time_now(heddle_worker* w) { return static_cast<std::int64_t>(heddle_now(w)); }

std::int64_t heddle_random_below(heddle_worker* w, std::int64_t limit, std::uint32_t* bad) {
  if (limit < 1) {
    *bad = 3;
    return 0;
  }
  return static_cast<std::int64_t>(from(w).io->random() % static_cast<std::uint64_t>(limit));
}

bool heddle_enter(heddle_worker* w) {
  part& p = part_of(from(w));
  if (p.depth == part::depth_max) return false;
  ++p.depth;
  return true;
}
void heddle_leave(heddle_worker* w) { --part_of(from(w)).depth; }

}  // extern "C"

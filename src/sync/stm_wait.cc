// SPDX-License-Identifier: MIT
// Watching, parking and waking.
#include "sync/stm_wait.hh"

#include <sched.h>

#include <algorithm>
#include <stdexcept>

#include "sync/stm_turn.hh"

namespace heddle::detail {
namespace {

/// Holds the lock of one variable, as a commit does.
class held_variable {
 public:
  held_variable(const tvar_base& v, const void* holder) noexcept : lock_(stm_access::lock(v)) {
    const std::uint64_t own = reinterpret_cast<std::uintptr_t>(holder) | 1;
    stm_pause pause;
    for (;; pause()) {
      version_ = lock_.load(std::memory_order_relaxed);
      // acquire: the list is as the last holder left it
      if (!is_locked(version_) &&
          lock_.compare_exchange_weak(version_, own, std::memory_order_acquire,
                                      std::memory_order_relaxed))
        return;
    }
  }
  held_variable(const held_variable&) = delete;
  held_variable& operator=(const held_variable&) = delete;
  ~held_variable() { lock_.store(version_, std::memory_order_release); }  // for the next holder

  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

 private:
  std::atomic<std::uint64_t>& lock_;
  std::uint64_t version_ = 0;
};

void link(stm_watch& w) noexcept {
  stm_watch*& first = stm_access::watches(*w.var);
  w.next = first;
  w.prev = nullptr;
  if (first != nullptr) first->prev = &w;
  first = &w;
  w.linked = true;
}

void unlink(stm_watch& w) noexcept {
  if (w.prev != nullptr) {
    w.prev->next = w.next;
  } else {
    stm_access::watches(*w.var) = w.next;
  }
  if (w.next != nullptr) w.next->prev = w.prev;
  w.linked = false;
}

}  // namespace

/// The suspended half of a waiter.
class changed_wait : public wait {
 public:
  explicit changed_wait(stm_waiter& w) noexcept : wait(kind_of_wait), waiter_(w) {}
  ~changed_wait() { leave(); }

  [[nodiscard]] bool await_ready() const noexcept {
    return waiter_.now.load(std::memory_order_acquire) == stm_waiter::state::woken;
  }
  template <frame_promise P>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<P> h) noexcept {
    worker& w = worker::running();
    if (w.current_context().canceled()) {
      canceled_ = true;
      return false;
    }
    waiter_.awaiter = this;
    park(*this, link_of(h), w);
    runtime::here().add_foreign(1);
    auto expected = stm_waiter::state::watching;
    // release: pairs with the exchange in wake(), which posts after it sees `parked`
    if (waiter_.now.compare_exchange_strong(expected, stm_waiter::state::parked,
                                            std::memory_order_acq_rel))
      return true;
    leave();
    take_out();
    frame = no_link;
    return false;
  }
  void await_resume() {
    leave();
    if (canceled_) throw_failure(canceled_error());
  }

  /// Wakes the function. Runs in the waiter's color.
  void changed(worker& w) noexcept {
    leave();
    wake(*this, w);
  }

 private:
  static void asked_to_end(wait& x, worker& w) noexcept {
    auto& self = static_cast<changed_wait&>(x);
    auto expected = stm_waiter::state::parked;
    if (!self.waiter_.now.compare_exchange_strong(expected, stm_waiter::state::canceled,
                                                  std::memory_order_acq_rel))
      return;  // the change was first, and its wake is on the way
    self.canceled_ = true;
    self.changed(w);
  }
  void leave() noexcept {
    if (waiter_.awaiter != this) return;
    waiter_.awaiter = nullptr;
    runtime::here().add_foreign(-1);
  }
  static constexpr wait_kind kind_of_wait{"tvar", &asked_to_end};

  stm_waiter& waiter_;
  bool canceled_ = false;
};

stm_waiter::stm_waiter() : home_(runtime::here()), color_(worker::here().color) {}

void stm_waiter::release() noexcept {
  // acq_rel: the last owner deletes after all uses of the others
  if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

bool stm_waiter::watch(const transaction& tx) {
  const auto& reads = stm_access::reads(tx);
  if (reads.empty())
    throw std::logic_error("a transaction retries but has read nothing that could change");
  std::vector<stm_read> each(reads.begin(), reads.end());
  const auto by_variable = [](const stm_read& a, const stm_read& b) {
    return std::less<>()(a.var, b.var);
  };
  std::sort(each.begin(), each.end(), by_variable);
  const auto same = [](const stm_read& a, const stm_read& b) { return a.var == b.var; };
  each.erase(std::unique(each.begin(), each.end(), same), each.end());
  watches_.reserve(each.size());  // records must not move
  for (const stm_read& r : each) {
    const held_variable hold(*r.var, this);
    if (hold.version() != r.version) return false;
    link(watches_.emplace_back(stm_watch{r.var, this, nullptr, nullptr, false}));
  }
  return true;
}

void stm_waiter::unwatch() noexcept {
  for (stm_watch& w : watches_) {
    const held_variable hold(*w.var, this);
    if (w.linked) unlink(w);
  }
  watches_.clear();
}

void stm_waiter::wake() noexcept {
  // acq_rel: pairs with await_suspend()
  if (now.exchange(state::woken, std::memory_order_acq_rel) != state::parked) return;
  worker* const w = worker::current();
  if (w != nullptr && &w->sched == &home_) {
    wake_from(*w);
    return;
  }
  for (;;) {  // memory or room may be scarce for a while, and a wake-up must not be lost
    try {
      add_ref();
      home_.post([self = reference(this)] { self->wake_from(worker::here()); });
      return;
    } catch (...) {
      ::sched_yield();
    }
  }
}

/// Runs on a worker of the waiter's runtime, and wakes the function in its color.
void stm_waiter::wake_from(worker& w) noexcept {
  if (w.color == color_) {
    if (awaiter != nullptr) awaiter->changed(w);
    return;
  }
  add_ref();
  send_urgent_message(w, color_, [self = reference(this)]() noexcept {
    if (self->awaiter != nullptr) self->awaiter->changed(worker::running());
  });
}

void stm_wake_list::take_from(const tvar_base& v) noexcept {
  stm_watch*& first = stm_access::watches(v);
  while (stm_watch* const w = first) {
    unlink(*w);
    // relaxed: the first claim wakes it; the lock orders the rest
    if (w->owner->claimed.exchange(true, std::memory_order_relaxed)) continue;
    w->owner->add_ref();
    w->owner->next_woken = first_;
    first_ = w->owner;
  }
}

void stm_wake_list::wake_all() noexcept {
  while (stm_waiter* const w = first_) {
    first_ = w->next_woken;
    w->wake();
    w->release();
  }
}

void stm_waiter_release::operator()(stm_waiter* w) const noexcept {
  w->unwatch();
  w->release();
}

stm_waiting watch_reads(const transaction& tx) {
  stm_waiting what(new stm_waiter);
  if (!what->watch(tx)) what.reset();
  return what;
}

task<> wait_for_change(stm_waiting what) {
  changed_wait change(*what);
  co_await change;
}

}  // namespace heddle::detail

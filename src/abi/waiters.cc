// SPDX-License-Identifier: MIT
// Waiting for objects that several colors share.
#include "abi/waiters.hh"

#include "heddle/core/detail/message.hh"

namespace heddle::abi {
namespace {

void withdraw(heddle_wait& at, worker& w) noexcept {
  auto& x = *static_cast<shared_wait*>(at.opaque[0]);
  at.kind = nullptr;
  waiters* const object = x.object;
  const auto held = object->hold();
  if (x.listed) {
    object->remove(x);
  } else if (x.told) {
    // The message to the waiter is on the way and frees it; the next waiter gets the wake.
    x.gone = true;
    if (x.parked()) {
      x.take_out();
      x.frame = no_link;
    }
    object->tell_one(w);
    return;
  } else {
    // The waiter was woken and its frame did not run: the next waiter gets the wake.
    object->tell_one(w);
  }
  drop(w, &x);
}

constexpr wait_ops shared_ops{&withdraw};

/// Brings the wake to the waiter, in the waiter's color.
void arrive(shared_wait* x, worker& w) noexcept {
  x->told = false;
  if (x->gone) {
    drop(w, x);
  } else if (x->parked()) {
    wake(*x, w);
  }
}

}  // namespace

const wait_kind shared_wait::kind_of_wait{"channel", [](wait& x, worker& w) noexcept {
                                            auto& self = static_cast<shared_wait&>(x);
                                            self.canceled = true;
                                            {
                                              const auto held = self.object->hold();
                                              if (self.listed) self.object->remove(self);
                                            }
                                            wake(self, w);
                                          }};

void waiters::remove(shared_wait& x) noexcept {
  shared_wait** at = &first_;
  while (*at != &x) at = &(*at)->next;
  *at = x.next;
  if (x.next == nullptr) last_ = at;
  x.listed = false;
}

void waiters::tell_one(worker& w) noexcept {
  shared_wait* const x = first_;
  if (x == nullptr) return;
  remove(*x);
  if (x->color == w.color) {
    wake(*x, w);
    return;
  }
  x->told = true;
  send_message(w, x->color, [x] { arrive(x, worker::running()); });
}

std::int64_t waiters::add(heddle_worker* hw, heddle_wait* at, heddle_frame* self) noexcept {
  worker& w = from(hw);
  shared_wait* x;
  try {
    x = make<shared_wait>(w, *this, w);
  } catch (...) {
    return -ENOMEM;
  }
  park_plain(*x, *self, w);
  x->listed = true;
  x->next = nullptr;
  *last_ = x;
  last_ = &x->next;
  at->opaque[0] = x;
  at->kind = &shared_ops;
  return HEDDLE_PARKED;
}

std::int64_t waiters::asked_again(heddle_worker* hw, heddle_wait* at) noexcept {
  worker& w = from(hw);
  auto* const x = static_cast<shared_wait*>(at->opaque[0]);
  if (x->parked()) return HEDDLE_PARKED;
  const bool canceled = x->canceled;
  at->kind = nullptr;
  bool on_its_way = false;
  {
    const auto held = x->object->hold();
    on_its_way = x->told;
    if (on_its_way) x->gone = true;
    // The waiter was cancelled while its wake was on the way: wake another one instead.
    if (canceled && on_its_way) x->object->tell_one(w);
  }
  if (!on_its_way) drop(w, x);
  return canceled ? reason(w, -ECANCELED) : 0;
}

}  // namespace heddle::abi

// SPDX-License-Identifier: MIT
// Plain frames that stand for another frame: that of a coroutine, and the arms of an `any`.
#include "heddle/core/detail/plain_wait.hh"

namespace heddle::detail {

const heddle_thread_kind coroutine_kind{"coroutine", 0, 0, 0, nullptr, nullptr, 0};

/// Wakes the owner of the arm, which then tries all its arms, unless another arm has woken it
/// already.
heddle_link arm_woken(frame* f, heddle_worker*) {
  auto* const a = reinterpret_cast<heddle_arm*>(f);
  f->next = no_link;
  f->at = 0;  // no longer on its way
  return a->owner == nullptr ? no_link : link_of(*a->owner);
}

const frame& owner_of_arm(const frame& f) noexcept {
  if (f.resume != &arm_woken) return f;
  const frame* const owner = reinterpret_cast<const heddle_arm&>(f).owner;
  return owner == nullptr ? f : *owner;
}

link coroutine_behind(link l) noexcept {
  if (!is_plain(l)) return l;
  const frame& f = owner_of_arm(plain_of(l));
  if ((f.at & HEDDLE_AT_THREAD) == 0) return l;
  const auto& t = reinterpret_cast<const heddle_thread&>(f);
  return t.kind == &coroutine_kind ? t.owner : l;
}

}  // namespace heddle::detail

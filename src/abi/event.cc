// SPDX-License-Identifier: MIT
// Events and the rendezvous that joins them. An event carries its value itself and becomes a node
// of the rendezvous' queue when it is triggered, so a trigger allocates nothing.
#include <atomic>
#include <cstring>

#include "abi/waiters.hh"

using namespace heddle;
using namespace heddle::abi;

struct heddle_rendezvous {
  heddle_rendezvous(std::size_t bytes, heddle_drop d, bool several) noexcept
      : size(bytes), drop_value(d), joiners(several) {}
  std::atomic<std::uint32_t> handles{1};  // the program's handles; at 0 the values are dropped
  std::atomic<std::uint32_t> count{1};    // one for all handles, one for each event
  std::size_t size;                       // bytes of one value
  heddle_drop drop_value;
  // The lock of `joiners` guards these.
  bool closed = false;
  std::size_t pending = 0;  // events that were neither triggered nor given up
  heddle_event* first = nullptr;
  heddle_event** last = &first;
  waiters joiners;
};

struct heddle_event {
  explicit heddle_event(heddle_rendezvous* r, bool with_id) noexcept : to(r), has_id(with_id) {}
  std::atomic<std::uint32_t> count{1};
  heddle_rendezvous* to;
  bool has_id;  // the value is known from the start; otherwise the trigger brings it
  // The rendezvous' lock guards these.
  bool triggered = false;
  heddle_event* next = nullptr;

  [[nodiscard]] void* value() noexcept { return this + 1; }
};

namespace {

template <class T>
bool was_last(std::atomic<T>& count) noexcept {
  // acq_rel: the last release must come after all writes by the owners before it
  return count.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void unref(heddle_worker* hw, heddle_rendezvous* r) noexcept {
  if (was_last(r->count)) drop(from(hw), r);
}

void free_event(heddle_worker* hw, heddle_event* e) noexcept {
  heddle_rendezvous* const r = e->to;
  const std::size_t bytes = sizeof(heddle_event) + r->size;
  std::destroy_at(e);
  heddle_free(hw, e, bytes);
  unref(hw, r);
}

/// Releases an event that was in the queue.
void unref(heddle_worker* hw, heddle_event* e) noexcept {
  if (was_last(e->count)) free_event(hw, e);
}

}  // namespace

extern "C" {

std::int64_t heddle_rendezvous_new(heddle_worker* hw, std::size_t size, heddle_drop drop_value,
                                   heddle_rendezvous** out) {
  try {
    *out = make<heddle_rendezvous>(from(hw), size, drop_value, runtime::here().workers() > 1);
    return 0;
  } catch (...) {
    return -ENOMEM;
  }
}

void heddle_rendezvous_retain(heddle_rendezvous* r) {
  if (r != nullptr) r->handles.fetch_add(1, std::memory_order_relaxed);
}

void heddle_rendezvous_release(heddle_worker* hw, heddle_rendezvous* r) {
  if (r == nullptr || !was_last(r->handles)) return;
  heddle_event* list = nullptr;
  {
    const auto held = r->joiners.hold();
    r->closed = true;
    list = std::exchange(r->first, nullptr);
    r->last = &r->first;
  }
  while (list != nullptr) {
    heddle_event* const e = list;
    list = e->next;
    if (r->drop_value != nullptr) r->drop_value(hw, e->value());
    unref(hw, e);
  }
  unref(hw, r);
}

std::int64_t heddle_rendezvous_event(heddle_worker* hw, heddle_rendezvous* r, heddle_event** out) {
  return heddle_rendezvous_signal(hw, r, nullptr, out);
}

std::int64_t heddle_rendezvous_signal(heddle_worker* hw, heddle_rendezvous* r, const void* id,
                                      heddle_event** out) {
  if (r == nullptr) return -EINVAL;
  void* const at = heddle_try_alloc(hw, sizeof(heddle_event) + r->size);
  if (at == nullptr) {
    if (id != nullptr && r->drop_value != nullptr) r->drop_value(hw, const_cast<void*>(id));
    return -ENOMEM;
  }
  auto* const e = new (at) heddle_event(r, id != nullptr);
  if (id != nullptr) std::memcpy(e->value(), id, r->size);
  r->count.fetch_add(1, std::memory_order_relaxed);
  const auto held = r->joiners.hold();
  ++r->pending;
  *out = e;
  return 0;
}

std::int64_t heddle_rendezvous_join(heddle_worker* hw, heddle_rendezvous* r, void* out,
                                    heddle_wait* at, heddle_frame* self) {
  heddle_event* taken = nullptr;
  const std::int64_t status = ask_shared(hw, r->joiners, at, self, [&](worker& w) -> std::int64_t {
    if (r->first == nullptr) {
      if (r->pending != 0) return HEDDLE_PARKED;
      // Wake the other joiners, which would wait for ever.
      r->joiners.tell_all(w);
      return HEDDLE_EOF;
    }
    taken = r->first;
    r->first = taken->next;
    if (r->first == nullptr) r->last = &r->first;
    std::memcpy(out, taken->value(), r->size);
    return 0;
  });
  if (taken != nullptr) unref(hw, taken);
  return status;
}

void heddle_event_retain(heddle_event* e) {
  if (e != nullptr) e->count.fetch_add(1, std::memory_order_relaxed);
}

void heddle_event_release(heddle_worker* hw, heddle_event* e) {
  if (e == nullptr) return;
  heddle_rendezvous* const r = e->to;
  bool ends = false;
  {
    const auto held = r->joiners.hold();
    ends = was_last(e->count);
    if (ends && !e->triggered && --r->pending == 0) r->joiners.tell_all(from(hw));
  }
  if (ends) free_event(hw, e);
}

void heddle_event_trigger(heddle_worker* hw, heddle_event* e, void* value) {
  heddle_drop const drop_value = e == nullptr ? nullptr : e->to->drop_value;
  bool queued = false;
  if (e != nullptr) {
    heddle_rendezvous* const r = e->to;
    const auto held = r->joiners.hold();
    if (!e->triggered) {
      e->triggered = true;
      --r->pending;
      if (!r->closed) {
        if (!e->has_id) std::memcpy(e->value(), value, r->size);
        e->count.fetch_add(1, std::memory_order_relaxed);
        *r->last = e;
        r->last = &e->next;
        r->joiners.tell_one(from(hw));
        queued = true;
      }
    }
  }
  if (!queued && value != nullptr && drop_value != nullptr) drop_value(hw, value);
}

void heddle_signal_trigger(heddle_worker* hw, heddle_event* e) {
  heddle_event_trigger(hw, e, nullptr);
}

}  // extern "C"

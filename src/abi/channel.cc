// SPDX-License-Identifier: MIT
// Channels, broadcasts and semaphores: objects that threads of all colors share.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "abi/waiters.hh"

using namespace heddle;
using namespace heddle::abi;

namespace {

constexpr std::int64_t capacity_max = 1 << 20;
bool several() { return runtime::here().workers() > 1; }

/// A bounded queue of values, in one cell of memory.
struct ring {
  char* data;
  std::size_t size;      // bytes of one value
  std::size_t capacity;  // the most values
  std::size_t first = 0;
  std::size_t count = 0;

  [[nodiscard]] char* at(std::size_t i) const noexcept {
    return data + (first + i) % capacity * size;
  }
  void push(const void* value) noexcept {
    std::memcpy(at(count), value, size);
    ++count;
  }
  void pop(void* out) noexcept {
    std::memcpy(out, at(0), size);
    first = (first + 1) % capacity;
    --count;
  }
};

template <class T>
void retain(T* x) noexcept {
  x->count.fetch_add(1, std::memory_order_relaxed);
}
template <class T>
bool last(T* x) noexcept {
  // acq_rel: the last release must come after all writes by the owners before it
  return x->count.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

}  // namespace

struct heddle_channel {
  heddle_channel(ring r, heddle_drop d) noexcept
      : values(r), drop_value(d), senders(several()), receivers(senders) {}
  std::atomic<std::uint32_t> count{1};
  ring values;
  heddle_drop drop_value;
  bool closed = false;
  // The lock of `senders` guards both lists.
  waiters senders;
  waiters receivers;
};

struct heddle_broadcast {
  heddle_broadcast(std::size_t bytes, void (*c)(void*), heddle_drop d) noexcept
      : size(bytes), copy_value(c), drop_value(d), lock(several()) {}
  std::atomic<std::uint32_t> count{1};
  std::size_t size;
  void (*copy_value)(void*);
  heddle_drop drop_value;
  heddle_subscription* first = nullptr;
  waiters lock;
};

struct heddle_subscription {
  heddle_subscription(heddle_broadcast* b, ring r) noexcept
      : of(b), values(r), receivers(b->lock) {}
  heddle_broadcast* of;
  ring values;
  bool missed = false;
  heddle_subscription* next = nullptr;
  waiters receivers;  // the broadcast's lock guards it
};

struct heddle_semaphore {
  explicit heddle_semaphore(std::int64_t n) noexcept : left(n), queue(several()) {}
  std::atomic<std::uint32_t> count{1};
  std::int64_t left;
  waiters queue;
};

namespace {

std::int64_t send_now(worker& w, heddle_channel* c, void* value) noexcept {
  if (c->closed) {
    if (c->drop_value != nullptr) c->drop_value(reinterpret_cast<heddle_worker*>(&w), value);
    return -EPIPE;
  }
  if (c->values.count == c->values.capacity) return HEDDLE_PARKED;
  c->values.push(value);
  c->receivers.tell_one(w);
  return 0;
}

std::int64_t receive_now(worker& w, heddle_channel* c, void* out) noexcept {
  if (c->values.count == 0) return c->closed ? HEDDLE_EOF : HEDDLE_PARKED;
  c->values.pop(out);
  c->senders.tell_one(w);
  return 0;
}

}  // namespace

extern "C" {

std::int64_t heddle_channel_new(heddle_worker* hw, std::int64_t capacity, std::size_t size,
                                heddle_drop drop_value, heddle_channel** out) {
  if (capacity < 1 || capacity > capacity_max) return -EINVAL;
  const auto n = static_cast<std::size_t>(capacity);
  auto* const data = static_cast<char*>(heddle_try_alloc(hw, n * size));
  if (data == nullptr) return -ENOMEM;
  try {
    *out = make<heddle_channel>(from(hw), ring{data, size, n}, drop_value);
    return 0;
  } catch (...) {
    heddle_free(hw, data, n * size);
    return -ENOMEM;
  }
}
void heddle_channel_retain(heddle_channel* c) {
  if (c != nullptr) retain(c);
}
void heddle_channel_release(heddle_worker* hw, heddle_channel* c) {
  if (c == nullptr || !last(c)) return;
  for (std::size_t i = 0; i != c->values.count; ++i)
    if (c->drop_value != nullptr) c->drop_value(hw, c->values.at(i));
  heddle_free(hw, c->values.data, c->values.capacity * c->values.size);
  drop(from(hw), c);
}

std::int64_t heddle_channel_send(heddle_worker* hw, heddle_channel* c, void* value, heddle_wait* at,
                                 heddle_frame* self) {
  const std::int64_t status =
      ask_shared(hw, c->senders, at, self, [&](worker& w) { return send_now(w, c, value); });
  // The channel owns the value in any case, so a cancelled send drops it.
  if (status < 0 && status != HEDDLE_PARKED && status != -EPIPE && c->drop_value != nullptr)
    c->drop_value(hw, value);
  return status;
}
std::int64_t heddle_channel_try_send(heddle_worker* hw, heddle_channel* c, void* value) {
  const auto held = c->senders.hold();
  const std::int64_t status = send_now(from(hw), c, value);
  if (status != HEDDLE_PARKED) return status;
  if (c->drop_value != nullptr) c->drop_value(hw, value);
  return -ENOBUFS;
}
std::int64_t heddle_channel_receive(heddle_worker* hw, heddle_channel* c, void* out,
                                    heddle_wait* at, heddle_frame* self) {
  return ask_shared(hw, c->receivers, at, self, [&](worker& w) { return receive_now(w, c, out); });
}
std::int64_t heddle_channel_try_receive(heddle_worker* hw, heddle_channel* c, void* out) {
  const auto held = c->senders.hold();
  const std::int64_t status = receive_now(from(hw), c, out);
  return status == HEDDLE_PARKED ? -EAGAIN : status;
}
void heddle_channel_close(heddle_worker* hw, heddle_channel* c) {
  const auto held = c->senders.hold();
  c->closed = true;
  c->senders.tell_all(from(hw));
  c->receivers.tell_all(from(hw));
}

std::int64_t heddle_broadcast_new(heddle_worker* hw, std::size_t size, void (*copy)(void*),
                                  heddle_drop drop_value, heddle_broadcast** out) {
  try {
    *out = make<heddle_broadcast>(from(hw), size, copy, drop_value);
    return 0;
  } catch (...) {
    return -ENOMEM;
  }
}
void heddle_broadcast_retain(heddle_broadcast* b) {
  if (b != nullptr) retain(b);
}
void heddle_broadcast_release(heddle_worker* hw, heddle_broadcast* b) {
  if (b != nullptr && last(b)) drop(from(hw), b);
}

void heddle_broadcast_send(heddle_worker* hw, heddle_broadcast* b, void* value) {
  const auto held = b->lock.hold();
  for (heddle_subscription* s = b->first; s != nullptr; s = s->next) {
    if (s->values.count == s->values.capacity) {
      // A slow subscriber misses the oldest value, and gets the number of missed ones.
      if (b->drop_value != nullptr) b->drop_value(hw, s->values.at(0));
      s->values.first = (s->values.first + 1) % s->values.capacity;
      --s->values.count;
      s->missed = true;
    }
    s->values.push(value);
    if (b->copy_value != nullptr) b->copy_value(s->values.at(s->values.count - 1));
    s->receivers.tell_one(from(hw));
  }
}

std::int64_t heddle_broadcast_subscribe(heddle_worker* hw, heddle_broadcast* b,
                                        std::int64_t capacity, heddle_subscription** out) {
  if (capacity < 1 || capacity > capacity_max) return -EINVAL;
  const auto n = static_cast<std::size_t>(capacity);
  auto* const data = static_cast<char*>(heddle_try_alloc(hw, n * b->size));
  if (data == nullptr) return -ENOMEM;
  try {
    auto* const s = make<heddle_subscription>(from(hw), b, ring{data, b->size, n});
    const auto held = b->lock.hold();
    s->next = b->first;
    b->first = s;
    retain(b);
    *out = s;
    return 0;
  } catch (...) {
    heddle_free(hw, data, n * b->size);
    return -ENOMEM;
  }
}

std::int64_t heddle_subscription_receive(heddle_worker* hw, heddle_subscription* s, void* out,
                                         heddle_wait* at, heddle_frame* self) {
  return ask_shared(hw, s->receivers, at, self, [&](worker&) -> std::int64_t {
    if (std::exchange(s->missed, false)) return -EOVERFLOW;
    if (s->values.count == 0) return HEDDLE_PARKED;
    s->values.pop(out);
    return 0;
  });
}

void heddle_subscription_release(heddle_worker* hw, heddle_subscription* s) {
  if (s == nullptr) return;
  heddle_broadcast* const b = s->of;
  {
    const auto held = b->lock.hold();
    heddle_subscription** at = &b->first;
    while (*at != s) at = &(*at)->next;
    *at = s->next;
  }
  for (std::size_t i = 0; i != s->values.count; ++i)
    if (b->drop_value != nullptr) b->drop_value(hw, s->values.at(i));
  heddle_free(hw, s->values.data, s->values.capacity * s->values.size);
  drop(from(hw), s);
  heddle_broadcast_release(hw, b);
}

std::int64_t heddle_semaphore_new(heddle_worker* hw, std::int64_t count, heddle_semaphore** out) {
  if (count < 0) return -EINVAL;
  try {
    *out = make<heddle_semaphore>(from(hw), count);
    return 0;
  } catch (...) {
    return -ENOMEM;
  }
}
void heddle_semaphore_retain(heddle_semaphore* s) {
  if (s != nullptr) retain(s);
}
void heddle_semaphore_release(heddle_worker* hw, heddle_semaphore* s) {
  if (s != nullptr && last(s)) drop(from(hw), s);
}
std::int64_t heddle_semaphore_acquire(heddle_worker* hw, heddle_semaphore* s,
                                      heddle_semaphore** out, heddle_wait* at, heddle_frame* self) {
  return ask_shared(hw, s->queue, at, self, [&](worker&) -> std::int64_t {
    if (s->left == 0) return HEDDLE_PARKED;
    --s->left;
    retain(s);
    *out = s;
    return 0;
  });
}
void heddle_semaphore_give(heddle_worker* hw, heddle_semaphore* permit) {
  if (permit == nullptr) return;
  {
    const auto held = permit->queue.hold();
    ++permit->left;
    permit->queue.tell_one(from(hw));
  }
  heddle_semaphore_release(hw, permit);
}

}  // extern "C"

// SPDX-License-Identifier: MIT
// Jobs: waiting for the end of a thread, cancelling it.
#include "abi/job.hh"

#include <cstring>

#include "heddle/core/detail/message.hh"

using namespace heddle;
using namespace heddle::abi;

heddle_job* heddle_job::make(worker& w, std::size_t size, heddle_drop drop) noexcept {
  try {
    void* const at = w.memory.allocate(sizeof(heddle_job) + size);
    return new (at) heddle_job(runtime::here().workers() > 1, size, drop);
  } catch (...) {
    return nullptr;
  }
}

context& heddle_job::begin(worker& w, context& outer) noexcept {
  try {
    own = &context::open(w, &outer);
  } catch (...) {
    own = nullptr;
    return outer;
  }
  if (cancel_asked) own->cancel(w);
  return *own;
}

void heddle_job::finish(worker& w, heddle_frame* f, std::int64_t status,
                        std::size_t result_at) noexcept {
  if (context* const c = std::exchange(own, nullptr)) {
    w.context_now = *c->parent();
    context::close(w, *c);
  }
  {
    const auto held = queue.hold();
    outcome = status;
    if (status == 0 && size != 0) {
      std::memcpy(result(), reinterpret_cast<const char*>(f) + result_at, size);
      has_result = true;
    }
    ended = true;
    queue.tell_all(w);
  }
  unref(w);
}

void heddle_job::unref(worker& w) noexcept {
  // acq_rel: the last release must come after all writes by the owner before it
  if (count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (has_result && drop_result != nullptr)
    drop_result(reinterpret_cast<heddle_worker*>(&w), result());
  const std::size_t bytes = sizeof(heddle_job) + size;
  std::destroy_at(this);
  w.memory.release(this, bytes);
}

extern "C" {

std::int64_t heddle_join(heddle_worker* hw, heddle_job* j, void* out, heddle_wait* at,
                         heddle_frame* self) {
  if (j == nullptr) return -ENOMEM;  // there was no memory even for the job
  return ask_shared(hw, j->queue, at, self, [&](worker&) -> std::int64_t {
    if (!j->ended) return HEDDLE_PARKED;
    if (j->outcome < 0) return j->outcome;
    if (j->size != 0) {
      if (!j->has_result) return -EINVAL;  // the job gives its result once
      std::memcpy(out, j->result(), j->size);
      j->has_result = false;
    }
    return 0;
  });
}

void heddle_job_cancel(heddle_worker* hw, heddle_job* j) {
  if (j == nullptr) return;
  j->count.fetch_add(1, std::memory_order_relaxed);
  const auto ask = [j] {
    worker& w = worker::running();
    if (j->own != nullptr) {
      j->own->cancel(w);
    } else {
      j->cancel_asked = true;
    }
    j->unref(w);
  };
  worker& w = from(hw);
  if (j->color == w.color) {
    ask();
  } else {
    send_message(w, j->color, ask);
  }
}

void heddle_job_release(heddle_worker* hw, heddle_job* j) {
  if (j != nullptr) j->unref(from(hw));
}

}  // extern "C"

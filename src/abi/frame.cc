// SPDX-License-Identifier: MIT
// heddle/abi.h: the calls that plain frames make.
#include <exception>
#include <mutex>

#include "abi/waiting.hh"
#include "heddle/abi.h"
#include "heddle/core/context.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::abi {
namespace {

runtime& home(heddle_worker* w) { return static_cast<runtime&>(from(w).sched); }

/// The content of a heddle_timer.
struct plain_alarm : timer_node {
  explicit plain_alarm(frame& f) noexcept : timer_node(&fire), target(&f) {}
  static void fire(timer_node& t, worker& w) noexcept {
    heddle_post(reinterpret_cast<heddle_worker*>(&w), static_cast<plain_alarm&>(t).target);
  }
  frame* target;
};
static_assert(sizeof(plain_alarm) <= sizeof(heddle_timer));

/// Calls f, from C: an exception cannot pass, so it ends the program through the assertion hook.
template <class F>
auto guarded(const char* call, F&& f) noexcept {
  try {
    return f();
  } catch (const std::exception& e) {
    detail::assertion_failed("memory for plain frames has not run out", e.what(), call, 0);
  }
}

}  // namespace

}  // namespace heddle::abi

using namespace heddle;
using namespace heddle::abi;

extern "C" {

uint32_t heddle_abi_version(void) { return HEDDLE_ABI_VERSION; }

void heddle_describe(heddle_worker* w, heddle_link (*resume)(heddle_frame*, heddle_worker*),
                     const heddle_wait_line* lines, uint32_t count) {
  guarded("heddle_describe", [&] { home(w).describe({resume, lines, count}); });
}

void* heddle_alloc(heddle_worker* w, size_t bytes) {
  return guarded("heddle_alloc", [&] { return from(w).memory.allocate(bytes); });
}
void* heddle_try_alloc(heddle_worker* w, size_t bytes) {
  try {
    return from(w).memory.allocate(bytes);
  } catch (...) {
    return nullptr;
  }
}
void heddle_free(heddle_worker* w, void* memory, size_t bytes) {
  from(w).memory.release(memory, bytes);
}

void heddle_start(heddle_worker* w, heddle_frame* f) {
  f->context = from(w).root_context;
  guarded("heddle_start", [&] { home(w).adopt(*f); });
  heddle_post(w, f);
}

void heddle_finish(heddle_worker* w, heddle_frame* f) {
  if ((f->at & HEDDLE_AT_QUEUED) != 0) from(w).all_ready().remove(link_of(*f));
  runtime& rt = home(w);
  rt.release(*f);
  f->destroy(f, w);
}

void heddle_post(heddle_worker* w, heddle_frame* f) {
  const std::uint32_t place =
      f->context == 0 ? from(w).color : from(w).context_at(f->context).color;
  if (place != from(w).color) {  // only the frame's color may look at it
    guarded("heddle_post", [&] {
      send_message(from(w), place,
                   [f] { heddle_post(reinterpret_cast<heddle_worker*>(&worker::running()), f); });
    });
    return;
  }
  if ((f->at & HEDDLE_AT_QUEUED) != 0) return;
  f->at |= HEDDLE_AT_QUEUED;
  from(w).post(link_of(*f));
}

uint64_t heddle_now(heddle_worker* w) {
  return static_cast<uint64_t>(from(w).sched.read_clock().time_since_epoch().count());
}

void heddle_wake_at(heddle_worker* w, heddle_timer* t, heddle_frame* f, uint64_t when) {
  heddle_wake_never(w, t);
  auto* alarm = new (t) plain_alarm(*f);
  home(w).arm(from(w), *alarm, time_point(nanoseconds(static_cast<std::int64_t>(when))));
}

void heddle_wake_never(heddle_worker*, heddle_timer* t) {
  if (t->opaque[0] == nullptr) return;  // zeroed, never armed
  std::destroy_at(reinterpret_cast<plain_alarm*>(t));
  *t = {};
}

}  // extern "C"

// SPDX-License-Identifier: MIT
// How an operation of heddle/abi.h waits: the library's awaiter, made in the frame's heddle_wait
// (or in a cell of the worker's, when it is larger), parked with a plain frame. After the wake the
// same call finds it there and takes its outcome.
#pragma once

#include <cerrno>
#include <coroutine>
#include <memory>
#include <new>
#include <type_traits>

#include "heddle/abi.h"
#include "heddle/core/context.hh"
#include "heddle/core/task.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::abi {

inline worker& from(heddle_worker* w) noexcept { return *reinterpret_cast<worker*>(w); }

/// The functions of a kind of wait, to which `heddle_wait::kind` points.
struct wait_ops {
  void (*withdraw)(heddle_wait& at, worker& w) noexcept;
};

/// An awaiter in a heddle_wait.
template <class A>
struct stored {
  static constexpr bool inside = sizeof(A) <= sizeof(heddle_wait::opaque) && alignof(A) <= 8;

  [[nodiscard]] static A& of(heddle_wait& at) noexcept {
    if constexpr (inside) {
      return *std::launder(reinterpret_cast<A*>(at.opaque));
    } else {
      return *static_cast<A*>(at.opaque[0]);
    }
  }
  /// Makes the awaiter from the result of make(); false without memory.
  template <class Make>
  [[nodiscard]] static bool emplace(heddle_wait& at, worker& w, Make&& make) noexcept {
    void* where = at.opaque;
    try {
      if constexpr (!inside) at.opaque[0] = where = w.memory.allocate(sizeof(A));
      new (where) A(make());
    } catch (...) {
      if (!inside && where != at.opaque && where != nullptr) w.memory.release(where, sizeof(A));
      return false;
    }
    at.kind = &ops;
    return true;
  }
  static void end(heddle_wait& at, worker& w) noexcept {
    A& a = of(at);
    at.kind = nullptr;
    std::destroy_at(&a);
    if constexpr (!inside) w.memory.release(&a, sizeof(A));
  }
  static constexpr wait_ops ops{&end};
};

/// The error that a wait answers: a cancelled context whose deadline has passed is a timeout.
inline std::int64_t reason(worker& w, std::int64_t outcome) noexcept {
  if (outcome == -ECANCELED && w.current_context().deadline() <= w.now) return -ETIMEDOUT;
  return outcome;
}

/// Parks a plain frame in the current context.
inline void park_plain(wait& x, heddle_frame& f, worker& w) noexcept {
  f.context = w.context_now;
  x.frame = link_of(f);
  x.since = w.now;
  w.current_context().waits().push_back(x);
}

/// Lets one of the library's awaiters park a plain frame; gives whether it did. An awaiter notes
/// the context where a coroutine has it, which is also where a plain frame has it, so it gets the
/// address without the bit that names the kind. The wait, or a link queued at once, gets the bit.
template <class A>
[[nodiscard]] bool suspend_plain(A& a, heddle_frame& f, worker& w) noexcept {
  void* const address = &f;
  if (!a.await_suspend(std::coroutine_handle<>::from_address(address))) return false;
  wait& x = a;
  if (x.parked()) {
    x.frame = link_of(f);
  } else {
    w.all_ready().remove(reinterpret_cast<link>(address));
    w.post(link_of(f));
  }
  return true;
}

/// A wait that room abi itself ends: for sleep, scopes, channels.
struct own_wait : wait {
  explicit own_wait(const wait_kind& k) noexcept : wait(k) {}
  bool canceled = false;

  /// Parks the frame, or notes that the context is cancelled.
  [[nodiscard]] bool begin(heddle_frame& f, worker& w) noexcept {
    if (w.current_context().canceled()) {
      canceled = true;
      return false;
    }
    park_plain(*this, f, w);
    return true;
  }
};

/// Begins a wait, or asks it again. HEDDLE_PARKED, 0 when the awaiter in `at` is done, or an error.
template <class A, class Make>
[[nodiscard]] std::int64_t ask(heddle_worker* hw, heddle_wait* at, heddle_frame* self,
                               Make&& make) {
  worker& w = from(hw);
  if (at->kind == nullptr) {
    if (!stored<A>::emplace(*at, w, make)) return -ENOMEM;
    if constexpr (std::is_base_of_v<own_wait, A>) {
      return stored<A>::of(*at).begin(*self, w) ? HEDDLE_PARKED : 0;
    } else {
      return suspend_plain(stored<A>::of(*at), *self, w) ? HEDDLE_PARKED : 0;
    }
  }
  return static_cast<wait&>(stored<A>::of(*at)).parked() ? HEDDLE_PARKED : 0;
}

/// A task<T> that runs beside the frame and wakes it at its end. A withdrawn task goes on alone,
/// cancelled, so a task must own all that it touches.
template <class T>
struct task_run {
  struct record : join_of<T> {
    record() noexcept : join_of<T>(&ended) {}
    static std::coroutine_handle<> ended(join& j, worker& w) noexcept {
      record& self = static_cast<record&>(j);
      self.finished = true;
      context::close(w, *std::exchange(self.own, nullptr));
      if (self.waiter_frame != nullptr) {
        w.post(link_of(*self.waiter_frame));
        return {};
      }
      std::destroy_at(&self);
      w.memory.release(&self, sizeof(record));
      return {};
    }
    context* own = nullptr;
    heddle_frame* waiter_frame = nullptr;
    bool finished = false;
  };

  [[nodiscard]] static record& of(heddle_wait& at) noexcept {
    return *static_cast<record*>(at.opaque[0]);
  }
  static void withdraw(heddle_wait& at, worker& w) noexcept {
    record& r = of(at);
    at.kind = nullptr;
    if (!r.finished) {
      r.waiter_frame = nullptr;
      r.own->cancel(w);
      return;
    }
    free(r, w);
  }
  static void free(record& r, worker& w) noexcept {
    std::destroy_at(&r);
    w.memory.release(&r, sizeof(record));
  }
  static constexpr wait_ops ops{&withdraw};

  /// The error that the task ended with, as -errno; 0 for none.
  [[nodiscard]] static std::int64_t status(record& r, worker& w) noexcept {
    if (!r.error) return 0;
    try {
      std::rethrow_exception(std::exchange(r.error, nullptr));
    } catch (const std::system_error& e) {
      const int code = e.code().value();
      return reason(w, code > 0 ? -code : -EIO);
    } catch (const std::bad_alloc&) {
      return -ENOMEM;
    } catch (...) {
      return -EIO;
    }
  }
};

/// Runs make()'s task. Returns HEDDLE_PARKED, an error, or 0 after it has called give(value).
template <class T, class Make, class Give>
std::int64_t ask_task(heddle_worker* hw, heddle_wait* at, heddle_frame* self, Make&& make,
                      Give&& give) noexcept {
  using run = task_run<T>;
  worker& w = from(hw);
  if (at->kind == nullptr) {
    if (w.current_context().canceled()) return reason(w, -ECANCELED);
    typename run::record* r = nullptr;
    try {
      r = new (w.memory.allocate(sizeof(typename run::record))) typename run::record();
      r->own = &context::open(w, &w.current_context());
      task<T> t = make();
      const auto h = t.release();
      h.promise().set_parent(*r);
      h.promise().context_low = r->own->low();
      r->waiter_frame = self;
      w.post(link_of(h));
    } catch (...) {
      if (r != nullptr) {
        if (r->own != nullptr) context::close(w, *r->own);
        run::free(*r, w);
      }
      return -ENOMEM;
    }
    self->context = w.context_now;
    at->opaque[0] = r;
    at->kind = &run::ops;
    return HEDDLE_PARKED;
  }
  typename run::record& r = run::of(*at);
  if (!r.finished) return HEDDLE_PARKED;
  const std::int64_t status = run::status(r, w);
  if (status == 0) {
    if constexpr (std::is_void_v<T>) {
      give();
    } else {
      give(r.take());
    }
  }
  at->kind = nullptr;
  run::free(r, w);
  return status;
}

}  // namespace heddle::abi

// SPDX-License-Identifier: MIT
// start(what, event): joins a task, a tamed call or any operation to an event, so that threads and
// events mix in one wait.
//
//   twait { start(fetch(a), mkevent(x)); start(conn.read(buf), mkevent(n)); timer(1s, mkevent()); }
//
// An event<T> gets the value; an event<result<T>> gets the value or the error; an event<> learns
// only that it ended. An exception that is no error code is reported, and a result then holds
// state_not_recoverable. When the event becomes empty first, the started task is cancelled,
// and ends soon afterwards. A buffer that it refers to must live until then, so it must not be a
// variable of the function that waits. any() and with_timeout() wait for the losers, and have no
// such rule.
#pragma once

#include <source_location>
#include <utility>

#include "heddle/core/event.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/tamed.hh"

namespace heddle {

class starter {
 public:
  /// Runs the task at once, up to its first wait, in a context of its own below the root's.
  template <class T, class... Ts>
  static void run(task<T> t, event<Ts...> done, std::source_location where) {
    worker& w = worker::here();
    auto* r =
        new (w.memory.allocate(sizeof(record<T, Ts...>))) record<T, Ts...>(w, std::move(done));
    r->own->opened_at = site_of(where);  // for dumps: the task may be an adapter of ours
    const auto h = t.release();
    h.promise().set_parent(*r);
    detail::context_switch inside(w, *r->own);
    detail::resume_here(h);
  }
  /// Joins a tamed function, which has started already, to an event, which fires when it ends.
  static void run(tamed&& call, event<> done) {
    worker& w = worker::here();
    auto* r = new (w.memory.allocate(sizeof(record<void>))) record<void>(w, std::move(done));
    if (!call.give_to(*r)) r->done(*r, w);
  }

 private:
  template <class T, class... Ts>
  struct record : join_of<T>, event_notifier {
    record(worker& w, event<Ts...> e)
        : join_of<T>(&ended_task),
          event_notifier(&ended_event),
          target(std::move(e)),
          own(&context::open(w, &w.sched.root().context_of_tasks())) {
      w.sched.root().enter();
      if (target) {
        detail::add_notifier(*target.record(), *this);
      } else {
        own->cancel(w);
      }
    }
    static void ended_event(event_notifier& n, worker& w) noexcept {
      static_cast<record&>(n).own->cancel(w);
    }
    static std::coroutine_handle<> ended_task(join& j, worker& w) noexcept {
      auto& self = static_cast<record&>(static_cast<join_of<T>&>(j));
      const bool wanted = static_cast<bool>(self.target);
      if (wanted) detail::remove_notifier(*self.target.record(), self);
      if (!wanted && self.own->canceled() && detail::is_cancellation(self.error)) {
        finish(self, w);  // the task was cancelled, as the event's end asked
        return w.sched.root().leave(w);
      }
      if (self.error) {
        scope& root = w.sched.root();
        if (wanted) {
          if constexpr (sizeof...(Ts) == 1 && (detail::is_result<Ts> && ...)) {
            self.target.trigger(
                std::unexpected(std::make_error_code(std::errc::state_not_recoverable)));
          } else {
            self.target.unblock();
          }
        }
        root.owner().error = std::exchange(self.error, nullptr);
        finish(self, w);
        return root.owner().done(root.owner(), w);  // reports it, and leaves the root
      }
      if constexpr (sizeof...(Ts) == 0) {
        self.target.trigger();
      } else {
        self.target.trigger(self.take());
      }
      finish(self, w);
      return w.sched.root().leave(w);
    }
    static void finish(record& self, worker& w) noexcept {
      context::close(w, *self.own);
      std::destroy_at(&self);
      w.memory.release(&self, sizeof(record));
    }
    event<Ts...> target;
    context* own;
  };
};

namespace detail {
template <class A>
auto await_in_task(A awaitable) -> task<await_value_t<A&&>> {
  co_return co_await static_cast<A&&>(awaitable);
}
template <class A>
auto await_result_in_task(A awaitable) -> task<result<await_value_t<A&&>>> {
  co_return co_await as_expected(static_cast<A&&>(awaitable));
}
}  // namespace detail

template <class T>
void start(task<T> t, event<> done, std::source_location where = std::source_location::current()) {
  starter::run(std::move(t), std::move(done), where);
}
template <class T, class U>
void start(task<T> t, event<U> done, std::source_location where = std::source_location::current()) {
  if constexpr (std::is_same_v<U, result<T>> && !std::is_same_v<T, U>) {
    starter::run(detail::await_result_in_task<task<T>>(std::move(t)), std::move(done), where);
  } else {
    starter::run(std::move(t), std::move(done), where);
  }
}
/// Starts the task of a function, which is kept with its captures until the task has ended.
template <class F, class... Us>
  requires(std::invocable<F&> && detail::is_task<std::invoke_result_t<F&>> && !detail::awaitable<F>)
void start(F f, event<Us...> done, std::source_location where = std::source_location::current()) {
  start(detail::call_and_give(std::move(f)), std::move(done), where);
}
inline void start(tamed&& call, event<> done) { starter::run(std::move(call), std::move(done)); }

/// Starts any other awaitable: an operation or an adapter.
template <detail::awaitable A, class... Us>
void start(A&& awaitable, event<Us...> done,
           std::source_location where = std::source_location::current()) {
  using value = detail::await_value_t<A&&>;
  if constexpr (std::is_same_v<event<Us...>, event<result<value>>>) {
    starter::run(detail::await_result_in_task<A>(std::forward<A>(awaitable)), std::move(done),
                 where);
  } else {
    starter::run(detail::await_in_task<A>(std::forward<A>(awaitable)), std::move(done), where);
  }
}

}  // namespace heddle

// SPDX-License-Identifier: MIT
// Structured concurrency: tasks spawned into a scope end before the scope does. The first failure
// cancels the rest and is rethrown where the scope is joined.
//
//   task<> serve_both(scope& s, tcp_listener& a, tcp_listener& b) {
//     s.spawn(serve(a)); s.spawn(serve(b)); co_return;
//   }
//   co_await with_scope(serve_both, std::ref(a), std::ref(b));
#pragma once

#include <functional>
#include <source_location>
#include <type_traits>
#include <utility>

#include "heddle/core/task.hh"

namespace heddle {

namespace detail {
/// Runs a task for its effects.
template <class T>
task<> discard_result(task<T> t) {
  static_cast<void>(co_await std::move(t));
}
}  // namespace detail

/// Thread: one color.
/// Owns: its children, which have ended when it dies: with_scope() sees to that however the
/// function
///   ends; a scope of your own must be joined also when an exception comes between.
/// Resumes: join() goes on when the last child has ended.
/// Cancel: cancel() reaches every child; cancelling the context around reaches them too.
/// Fails: join() rethrows the first exception of a child, each time. Where children ended because
///   the context around was cancelled, it throws operation_canceled.
class scope {
 public:
  enum class kind : std::uint8_t { children, root };

  /// Opens a context below the running one.
  explicit scope(std::source_location where = std::source_location::current());
  /// The root of a worker.
  scope(worker& w, kind k);
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;
  ~scope();

  /// The task starts in a later turn of the queue.
  void spawn(task<> t);
  template <class T>
  void spawn(task<T> t) {
    spawn(detail::discard_result(std::move(t)));
  }
  /// Calls f with these arguments, which are kept as long as the task runs.
  template <class F, class... Args>
    requires std::invocable<F&, Args&...>
  void spawn(F f, Args... args);
  /// The task and what it spawns run in this color; its end is told in the scope's.
  void spawn(color c, task<> t);
  template <class T>
  void spawn(color c, task<T> t) {
    spawn(c, detail::discard_result(std::move(t)));
  }

  /// Asks every child to end.
  void cancel() noexcept;
  [[nodiscard]] bool canceled() const noexcept { return context_->canceled(); }
  /// Children that have not ended.
  [[nodiscard]] std::size_t live() const noexcept { return live_; }
  [[nodiscard]] context& context_of_tasks() const noexcept { return *context_; }

  /// Notes a failure as if a child had had it: cancels the rest.
  void fail(std::exception_ptr error) noexcept;

  /// Waits until all children have ended; rethrows the first failure. Several may wait.
  class joiner : wait {
   public:
    explicit joiner(scope& s) noexcept : wait(kind_of_wait), scope_(s) {}
    joiner(joiner&& other) noexcept : joiner(other.scope_) {}  // before it waits
    [[nodiscard]] bool await_ready() const noexcept { return scope_.live_ == 0; }
    template <frame_promise P>
    void await_suspend(std::coroutine_handle<P> h) noexcept {
      joiner** at = &scope_.waiter_;
      while (*at != nullptr) at = &(*at)->next_;
      *at = this;
      park(*this, link_of(h), worker::running());
    }
    void await_resume() const {
      if (scope_.error_ || scope_.cut_short_) [[unlikely]]
        scope_.throw_outcome();
    }

   private:
    friend class scope;
    static const wait_kind kind_of_wait;
    scope& scope_;
    joiner* next_ = nullptr;
  };
  [[nodiscard]] joiner join() noexcept { return joiner(*this); }

  /// One more (or one less) thing that this scope waits for, for what is no task. leave() gives the
  /// joiner to go on with, if that was the last.
  void enter() noexcept { ++live_; }
  std::coroutine_handle<> leave(worker& w) noexcept {
    if (--live_ != 0 || waiter_ == nullptr) return {};
    return last_left(w);
  }
  /// The same for callers that cannot resume: the joiner is queued.
  void leave_later(worker& w) noexcept;
  /// Whether this is a scope's, to which all of its tasks report.
  [[nodiscard]] static bool serves_many(const heddle::join& j) noexcept {
    return j.done == &children_join::ended;
  }
  /// Where a task of this scope reports its end.
  [[nodiscard]] struct join& owner() noexcept { return children_; }

 private:
  struct children_join : heddle::join {
    explicit children_join(scope& s) noexcept : heddle::join(&ended), owner(s) {}
    static std::coroutine_handle<> ended(heddle::join& j, worker& w) noexcept;
    scope& owner;
  };

  std::coroutine_handle<> last_left(worker& w) noexcept;
  [[gnu::cold, gnu::noinline]] void throw_outcome() const;
  [[noreturn, gnu::cold, gnu::noinline]] void left_too_early() const noexcept;
  /// What a child's exception means here: nothing (it was asked to end), a failure, or a report.
  HEDDLE_RARE void child_failed(std::exception_ptr error, worker& w) noexcept;

  context* context_;
  children_join children_;
  std::exception_ptr error_;
  std::size_t live_ = 0;
  joiner* waiter_ = nullptr;  ///< the first of those who join
  kind kind_;
  bool cut_short_ = false;  ///< a child ended because it was asked to
};

namespace detail {

template <class F, class... Args>
task<> call_later(F f, Args... args) {
  using result_type = std::invoke_result_t<F&, Args&...>;
  if constexpr (std::is_void_v<result_type>) {
    f(args...);
    co_return;
  } else {
    static_cast<void>(co_await f(args...));
  }
}

/// Makes `c` the running context until this dies.
class context_switch {
 public:
  context_switch(worker& w, context& c) noexcept : saved_(w.context_now) { w.context_now = c; }
  context_switch(const context_switch&) = delete;
  context_switch& operator=(const context_switch&) = delete;
  ~context_switch() { worker::running().context_now = saved_; }

 private:
  context_note saved_;
};

template <class T>
struct task_value;
template <class T>
struct task_value<task<T>> {
  using type = T;
};

}  // namespace detail

template <class F, class... Args>
  requires std::invocable<F&, Args&...>
void scope::spawn(F f, Args... args) {
  spawn(detail::call_later<F, Args...>(std::move(f), std::move(args)...));
}

/// Runs body(scope, args...) and waits for everything that it spawned. The arguments are kept in
/// the frame; pass std::ref for what should not be copied. The body must not capture: pass
/// arguments.
template <class Body, class... Args>
auto with_scope(Body body, Args... args)
    -> task<typename detail::task_value<std::invoke_result_t<Body&, scope&, Args&...>>::type> {
  using value = typename detail::task_value<std::invoke_result_t<Body&, scope&, Args&...>>::type;
  scope s;
  join_of<value> kept;
  try {
    detail::context_switch inside(worker::running(), s.context_of_tasks());
    if constexpr (std::is_void_v<value>) {
      co_await body(s, args...);
    } else {
      kept.store(co_await body(s, args...));
    }
  } catch (...) {
    s.fail(std::current_exception());
  }
  co_await s.join();
  if constexpr (!std::is_void_v<value>) co_return kept.take();
}

/// Spawns into the root scope of the running color, or of the color that is named; all of them are
/// drained at shutdown.
template <class T>
void spawn(task<T> t) {
  worker::here().sched.root().spawn(std::move(t));
}
template <class T>
void spawn(color c, task<T> t) {
  worker::here().sched.root().spawn(c, std::move(t));
}

}  // namespace heddle

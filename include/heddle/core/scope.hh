// SPDX-License-Identifier: MIT
// Structured concurrency: tasks spawned into a scope end before the scope does. The first failure
// cancels the rest and is rethrown where the scope is joined.
//
//   task<> serve_both(scope& s, tcp_listener& a, tcp_listener& b) {
//     s.spawn(serve(a)); s.spawn(serve(b)); co_return;
//   }
//   co_await with_scope(serve_both, std::ref(a), std::ref(b));
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>

#include "heddle/core/detail/closure.hh"
#include "heddle/core/task.hh"

namespace heddle {

namespace detail {
/// Whether this is operation_canceled.
[[nodiscard]] bool is_cancellation(const std::exception_ptr& error) noexcept;

/// Whether this is the error of a connection that its peer reset or closed.
[[nodiscard]] bool is_loss_of_peer(const std::exception_ptr& error) noexcept;

/// Runs a task for its effects.
template <class T>
task<> discard_result(task<T> t) {
  static_cast<void>(co_await std::move(t));
}
}  // namespace detail

/// Thread: one color.
/// Owns: its children, which must have ended when it dies. with_scope() sees to that, however its
///   function ends. A scope of your own must be joined also if an exception is thrown before.
/// Resumes: join() goes on when the last child has ended.
/// Cancel: cancel() reaches every child; cancelling the context around reaches them too.
/// Fails: join() rethrows the first exception of a child, each time. Where children ended because
///   the context around was cancelled, it throws operation_canceled. with_scope() does so only
///   when its function has no value to give.
class scope {
 public:
  enum class kind : std::uint8_t { children, root };
  class completer;

  /// Opens a context below the running one.
  explicit scope(std::source_location where = std::source_location::current());
  /// The root scope of a color.
  scope(worker& w, kind k);
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;
  ~scope();

  /// Spawns a task, which starts in a later turn of the queue.
  void spawn(task<> t);
  template <class T>
  void spawn(task<T> t) {
    spawn(detail::discard_result(std::move(t)));
  }
  /// Calls f with these arguments, which are kept as long as the task runs, as is f: a lambda may
  /// capture. (Give the lambda, not its call, which would outlive it.)
  template <class F, class... Args>
    requires std::invocable<F&, Args&...>
  void spawn(F f, Args... args);
  template <class F, class... Args>
    requires std::invocable<F&, Args&...>
  void spawn(color c, F f, Args... args);
  /// Spawns a task that runs in this color, as do the tasks that it spawns. The scope learns of its
  /// end in the scope's own color.
  void spawn(color c, task<> t);
  template <class T>
  void spawn(color c, task<T> t) {
    spawn(c, detail::discard_result(std::move(t)));
  }

  /// Asks every child to end.
  void cancel() noexcept;
  [[nodiscard]] bool canceled() const noexcept { return context_->canceled(); }
  /// How many children have not ended.
  [[nodiscard]] std::size_t live() const noexcept { return live_; }
  [[nodiscard]] context& context_of_tasks() const noexcept { return *context_; }

  /// Notes a failure as if it were a child's, and cancels the children.
  void fail(std::exception_ptr error) noexcept;

  /// Waits until all children have ended; rethrows the first failure. Several may wait.
  /// Cancel: asks the children to end, and ends with them, with operation_canceled; so a time limit
  ///   around a join bounds the children, also of a scope that was opened outside of the limit.
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
      if (scope_.error_ || scope_.cut_short_ || asked_to_end_) [[unlikely]]
        scope_.throw_outcome(asked_to_end_);
    }

   private:
    friend class scope;
    friend class completer;
    static void end_children(wait& x, worker& w) noexcept;
    static const wait_kind kind_of_wait;
    bool asked_to_end_ = false;
    scope& scope_;
    joiner* next_ = nullptr;
  };
  [[nodiscard("co_await it")]] joiner join() noexcept { return joiner(*this); }

  /// Waits like join(), and throws nothing: for callers that have something to give back although
  /// children failed or were cancelled.
  class settler : public joiner {
   public:
    using joiner::joiner;
    void await_resume() const noexcept {}
  };
  [[nodiscard("co_await it")]] settler settled() noexcept { return settler(*this); }
  /// Waits like join(), but throws operation_canceled only where a child ended because it was asked
  /// to: for callers whose value is whole if every child has come to its end, although the caller
  /// was cancelled meanwhile.
  class completer : public joiner {
   public:
    using joiner::joiner;
    void await_resume() const {
      if (scope_.error_ || scope_.cut_short_) [[unlikely]]
        scope_.throw_outcome(true);
    }
  };
  [[nodiscard("co_await it")]] completer completed() noexcept { return completer(*this); }
  /// Throws the first failure of a child, if there was one.
  void rethrow_failure() const {
    if (error_) [[unlikely]]
      std::rethrow_exception(error_);
  }

  /// Counts one more (or one less) thing that this scope waits for and that is no task. If it was
  /// the last one, leave() returns the joiner to resume.
  void enter() noexcept { ++live_; }
  std::coroutine_handle<> leave(worker& w) noexcept {
    if (--live_ != 0 || waiter_ == nullptr) return {};
    return last_left(w);
  }
  /// As leave(), for callers that cannot resume a coroutine: the joiner is queued.
  void leave_later(worker& w) noexcept;
  /// Whether this is the join of a scope, to which all of its tasks report.
  [[nodiscard]] static bool serves_many(const heddle::join& j) noexcept {
    return j.done == &children_join::ended;
  }
  /// The function that joins the scope to whose tasks this join belongs, or no_link.
  [[nodiscard]] static link joined_by(const heddle::join& j) noexcept {
    const joiner* const first = static_cast<const children_join&>(j).owner.waiter_;
    return first == nullptr ? no_link : first->frame;
  }
  /// The context of the scope to whose tasks this join belongs.
  [[nodiscard]] static const context& context_of(const heddle::join& j) noexcept {
    return static_cast<const children_join&>(j).owner.context_of_tasks();
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
  [[gnu::cold, gnu::noinline]] void throw_outcome(bool joiner_was_asked) const;
  [[noreturn, gnu::cold, gnu::noinline]] void left_too_early() const noexcept;
  /// Handles a child's exception: ignores it (the child was asked to end), fails, or reports it.
  HEDDLE_RARE void child_failed(std::exception_ptr error, worker& w) noexcept;

  context* context_;
  children_join children_;
  std::exception_ptr error_;
  std::size_t live_ = 0;
  joiner* waiter_ = nullptr;  ///< the first of the joiners
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

/// Calls a function with values that frames are not aligned for: Clang 19 places parameters of a
/// coroutine wrongly if they are aligned to more than that.
template <class F, class... Args>
task<> call_with(std::unique_ptr<std::tuple<F, Args...>> kept) {
  using result_type = std::invoke_result_t<F&, Args&...>;
  if constexpr (std::is_void_v<result_type>) {
    std::apply([](F& f, Args&... args) { f(args...); }, *kept);
    co_return;
  } else {
    static_cast<void>(co_await std::apply([](F& f, Args&... args) { return f(args...); }, *kept));
  }
}

/// A task that keeps f and the arguments, and calls it.
template <class F, class... Args>
task<> calling(F&& f, Args&&... args) {
  constexpr std::size_t most = alignof(std::max_align_t);
  if constexpr (alignof(F) > most || ((alignof(Args) > most) || ...))
    return call_with<F, Args...>(
        std::make_unique<std::tuple<F, Args...>>(std::move(f), std::move(args)...));
  else
    return call_later<F, Args...>(std::move(f), std::move(args)...);
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
template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

/// T of the task<T> that f(args...) makes.
template <class F, class... Args>
using called_task_value = typename task_value<std::invoke_result_t<F, Args...>>::type;

/// Keeps f, with its captures, as long as the task that it makes.
template <class F>
auto call_and_give(F f) -> task<called_task_value<F&>> {
  co_return co_await f();
}

}  // namespace detail

template <class F, class... Args>
  requires std::invocable<F&, Args&...>
void scope::spawn(F f, Args... args) {
  spawn(detail::calling<F, Args...>(std::move(f), std::move(args)...));
}

template <class F, class... Args>
  requires std::invocable<F&, Args&...>
void scope::spawn(color c, F f, Args... args) {
  spawn(c, detail::calling<F, Args...>(std::move(f), std::move(args)...));
}

namespace detail {

template <class Body, class... Args>
auto run_with_scope(Body body, Args... args) -> task<called_task_value<Body&, scope&, Args&...>> {
  using value = called_task_value<Body&, scope&, Args&...>;
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
  if constexpr (std::is_void_v<value>) {
    co_await s.join();
  } else {
    co_await s.settled();
    s.rethrow_failure();
    co_return kept.take();
  }
}

}  // namespace detail

/// Runs body(scope, args...) and waits for everything that it spawned. The body and the arguments
/// are kept in the frame, so a lambda may capture; pass std::ref for what should not be copied.
template <class Body, class... Args>
[[nodiscard("co_await it")]] auto with_scope(Body&& body, Args&&... args) {
  using function = std::decay_t<Body>;
  detail::check_closures<Body, Args...>();
  constexpr bool fits = std::invocable<function&, scope&, std::decay_t<Args>&...>;
  static_assert(fits,
                "with_scope(body, args...) calls body(s, args...): let the body take scope& first, "
                "and then what is passed here");
  if constexpr (fits) {
    using made = std::invoke_result_t<function&, scope&, std::decay_t<Args>&...>;
    static_assert(detail::is_task<made>,
                  "the body of with_scope() must be a task: write -> task<> before its brace");
    if constexpr (detail::is_task<made>)
      return detail::run_with_scope<function, std::decay_t<Args>...>(std::forward<Body>(body),
                                                                     std::forward<Args>(args)...);
  }
}

/// Spawns into the root scope of the running color, or of the color that is named; all of them are
/// drained at shutdown. A function is kept with its captures while its task runs.
template <class T>
void spawn(task<T> t) {
  worker::here().sched.root().spawn(std::move(t));
}
template <class T>
void spawn(color c, task<T> t) {
  worker::here().sched.root().spawn(c, std::move(t));
}
template <class F, class... Args>
  requires std::invocable<F&, Args&...>
void spawn(F f, Args... args) {
  worker::here().sched.root().spawn(std::move(f), std::move(args)...);
}
template <class F, class... Args>
  requires std::invocable<F&, Args&...>
void spawn(color c, F f, Args... args) {
  worker::here().sched.root().spawn(c, std::move(f), std::move(args)...);
}

}  // namespace heddle

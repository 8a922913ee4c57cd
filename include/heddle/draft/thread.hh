// SPDX-License-Identifier: MIT
// Threads, jobs and blocks of Draft: spawn(), job<T>, with_scope(), within, shield, defer. A thread
// is a task of the root scope, or of a scope; an error that ends it is reported on standard error,
// unless it is one of the usual ends of a connection or a job's holder may ask for it.
//
//   draft::job<int> answer = draft::spawn(ask(server));
//   const draft::within limit(2s);                 // for every wait until the block ends
//   const int n = co_await answer.join();
#pragma once

#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <source_location>

#include "heddle/core/scope.hh"
#include "heddle/draft/waiters.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::from_draft {

namespace detail {

/// A context of its own for the function until this ends. Thread: the function's color.
class own_context {
 public:
  own_context() : own_(&context::open(running(), &running().current_context())) {
    running().context_now = *own_;
  }
  own_context(const own_context&) = delete;
  own_context& operator=(const own_context&) = delete;
  ~own_context() {
    worker& w = running();
    w.context_now = *own_->parent();
    context::close(w, *own_);
  }
  [[nodiscard]] context& get() const noexcept { return *own_; }

 private:
  [[nodiscard]] static worker& running() noexcept { return worker::running(); }
  context* own_;
};

}  // namespace detail

/// A deadline for every wait until it ends, in called functions too: error.timeout. Of nested ones
/// the earliest counts.
class within : timer_node {
 public:
  explicit within(nanoseconds span) : timer_node(&reached) {
    worker& w = worker::running();
    const time_point due =
        span > nanoseconds::zero() ? add_saturated(w.sched.read_clock(), span) : w.now;
    if (due >= own_.get().deadline()) return;  // an outer deadline comes first
    own_.get().set_deadline(due);
    if (due <= w.now)
      own_.get().cancel(w);
    else
      w.sched.arm(w, *this, due);
  }
  ~within() { disarm(); }

 private:
  static void reached(timer_node& t, worker& w) noexcept {
    static_cast<within&>(t).own_.get().cancel(w);
  }
  detail::own_context own_;
};

/// Waits go on until it ends although the thread is cancelled or its deadline has passed.
class shield {
 public:
  shield() { own_.get().shield(); }

 private:
  detail::own_context own_;
};

/// Calls f at the end of the block, however it is left.
template <class F>
class [[nodiscard("give it a name")]] defer {
 public:
  explicit defer(F f) noexcept : call_(std::move(f)), unwinding_(std::uncaught_exceptions()) {}
  defer(const defer&) = delete;
  defer& operator=(const defer&) = delete;
  ~defer() noexcept(false) {
    try {
      call_();
    } catch (...) {
      if (std::uncaught_exceptions() == unwinding_) throw;
    }
  }

 private:
  F call_;
  int unwinding_;
};

namespace detail {

template <class T>
struct job_state {
  std::mutex lock;
  waiters joiners;
  bool ended = false;
  std::optional<stored<T>> value;
  std::optional<error> failed;
  // The thread's color guards these.
  std::uint32_t color = 0;
  context* own = nullptr;  ///< while it runs
  bool cancel_asked = false;
};

[[nodiscard]] inline bool is_usual_end(const error& e) noexcept {
  for (const char* name : {"eof", "canceled", "timeout", "reset", "closed"})
    if (e == error(name)) return true;
  return e == error::fault();  // reported where it happened
}
inline void report_end(const error& e, const std::source_location& spawned) {
  if (is_usual_end(e)) return;
  std::fprintf(stderr, "heddle: a thread ended: error.%s (spawned at %s:%u)\n", e.name(),
               spawned.file_name(), static_cast<unsigned>(spawned.line()));
}

template <class T>
task<> run_body(std::shared_ptr<job_state<T>> s, task<T> body) {
  const own_context inside;
  s->own = &inside.get();
  if (s->cancel_asked) s->own->cancel(worker::running());
  try {
    outcome<T> got = co_await caught(std::move(body));
    if (!got) {
      s->failed = got.error();
    } else if constexpr (std::is_void_v<T>) {
      s->value.emplace();
    } else {
      s->value = std::move(*got);
    }
  } catch (const fault&) {
    s->failed = error::fault();
  }
  s->own = nullptr;
}

template <class T>
task<> run_job(std::shared_ptr<job_state<T>> s, task<T> body, std::source_location spawned) {
  co_await run_body<T>(s, std::move(body));
  if (s->failed && s.use_count() == 1) report_end(*s->failed, spawned);
  const std::scoped_lock held(s->lock);
  s->ended = true;
  s->joiners.tell_all();
}

}  // namespace detail

/// A thread that may be joined. Thread: any. Its end does not end the thread.
template <class T>
class job {
 public:
  job() noexcept = default;
  explicit job(std::shared_ptr<detail::job_state<T>> s) noexcept : state_(std::move(s)) {}
  job(job&&) noexcept = default;
  job& operator=(job&&) noexcept = default;

  /// Waits for the end of the thread and gives its result, once.
  [[nodiscard]] operation<T> join() const {
    using state = detail::job_state<T>;
    return shared_operation<T>(state_, &state::joiners, [](state& s) {
      if (!s.ended) return std::optional<stored<T>>();
      if (s.failed) throw error(*s.failed);
      if (!s.value) throw error("invalid");
      if constexpr (std::is_void_v<T>)
        return s.value;
      else
        return std::exchange(s.value, std::nullopt);
    });
  }
  /// Asks the thread to end: its waits give error.canceled.
  void cancel() const {
    const auto ask = [s = state_] {
      if (s->own != nullptr)
        s->own->cancel(worker::running());
      else
        s->cancel_asked = true;
    };
    worker& w = worker::here();
    if (state_->color == w.color)
      ask();
    else
      send_message(w, state_->color, ask);
  }

 private:
  std::shared_ptr<detail::job_state<T>> state_;
};

/// A thread of its own in this color, or in the one named.
template <class T>
job<T> spawn(task<T> body, std::source_location where = std::source_location::current()) {
  auto s = std::make_shared<detail::job_state<T>>();
  s->color = worker::here().color;
  runtime::here().spawn(detail::run_job<T>(s, std::move(body), where));
  return job<T>(std::move(s));
}
template <class T>
job<T> spawn(color in, task<T> body, std::source_location where = std::source_location::current()) {
  auto s = std::make_shared<detail::job_state<T>>();
  s->color = worker::here().place_of(in.number);
  runtime::here().spawn(in, detail::run_job<T>(s, std::move(body), where));
  return job<T>(std::move(s));
}
/// A task of a function that does not wait.
template <class F, class... Args>
[[nodiscard]] auto later(F f, Args... args) -> task<std::invoke_result_t<F&, Args...>> {
  co_return f(std::forward<Args>(args)...);
}

/// The threads of a with_scope().
class scope {
 public:
  template <class T>
  job<T> spawn(task<T> body, std::source_location where = std::source_location::current()) {
    auto s = std::make_shared<detail::job_state<T>>();
    s->color = worker::here().color;
    children_.spawn(detail::run_job<T>(s, std::move(body), where));
    return job<T>(std::move(s));
  }
  void cancel() noexcept { children_.cancel(); }
  [[nodiscard]] auto settled() noexcept { return children_.settled(); }

 private:
  heddle::scope children_;
};

/// How a block was left that C++ needs a lambda for.
enum class way : std::uint8_t { on, breaks, continues, returns };

namespace detail {
/// Calls body(args...) and end(early) afterwards, also if the first throws: early is true where it
/// was left by an error, or gave a value that says so.
template <class T, class Body, class End>
task<T> run_and_end(Body& body, End& end) {
  std::exception_ptr failed;
  std::optional<stored<T>> kept;
  bool early = !std::is_void_v<T>;
  try {
    if constexpr (std::is_void_v<T>) {
      co_await body();
      kept.emplace();
    } else {
      kept.emplace(co_await body());
      if constexpr (std::is_same_v<T, way>) early = *kept != way::on;
    }
  } catch (...) {
    failed = std::current_exception();
    early = true;
  }
  co_await end(early);
  if (failed) std::rethrow_exception(failed);
  if constexpr (!std::is_void_v<T>) co_return std::move(*kept);
}
template <class T, class Body>
task<T> run_in_scope(Body& body) {
  scope jobs;
  struct call {
    Body& body;
    scope& jobs;
    task<T> operator()() { return body(jobs); }
  } inside{body, jobs};
  struct leave {
    scope& jobs;
    task<> operator()(bool early) { return settle(jobs, early); }
    static task<> settle(scope& jobs, bool early) {
      if (early) jobs.cancel();
      co_await jobs.settled();
    }
  } at_end{jobs};
  co_return co_await run_and_end<T>(inside, at_end);
}
template <class T, class Body, class Cleanup>
task<T> run_finally(Body& body, Cleanup& cleanup) {
  struct leave {
    Cleanup& cleanup;
    task<> operator()(bool) { return cleanup(); }
  } at_end{cleanup};
  co_return co_await run_and_end<T>(body, at_end);
}
}  // namespace detail

/// Calls body(jobs), a function that makes a task, and waits for the threads spawned into `jobs`.
/// They are cancelled first if the body ends with an error, a value, or a way other than way::on.
template <class Body>
[[nodiscard("co_await it")]] auto with_scope(Body& body) -> std::invoke_result_t<Body&, scope&> {
  using value = typename std::invoke_result_t<Body&, scope&>::value_type;
  return detail::run_in_scope<value>(body);
}
/// Calls body(), and cleanup() when it has ended in whatever way. Both make tasks.
template <class Body, class Cleanup>
[[nodiscard("co_await it")]] auto finally(Body& body, Cleanup& cleanup)
    -> std::invoke_result_t<Body&> {
  using value = typename std::invoke_result_t<Body&>::value_type;
  return detail::run_finally<value>(body, cleanup);
}

}  // namespace heddle::from_draft

// SPDX-License-Identifier: MIT
// Threads, jobs and blocks of Draft: spawn(), job<T>, with_scope(), within, shield, defer. A thread
// is a task that runs as a thread of heddle/abi.h: of its color, or of a scope. An error that ends
// it is reported on standard error, unless it is one of the usual ends of a connection or a job's
// holder may ask for it.
//
//   draft::job<int> answer = draft::spawn(ask(server));
//   const draft::within limit(2s);                 // for every wait until the block ends
//   const int n = co_await answer.join();
#pragma once

#include <cstdio>
#include <exception>
#include <new>
#include <source_location>
#include <vector>

#include "heddle/core/exception_lines.hh"
#include "heddle/core/report.hh"
#include "heddle/draft/operation.hh"
#include "heddle/sched/runtime.hh"

namespace heddle::from_draft {

namespace detail {
/// A heddle_within, which bounds the function until this ends. Thread: the function's color.
class bounds_of_waits {
 public:
  template <class Open>
  explicit bounds_of_waits(Open open) {
    heddle_frame unused{};
    open(this_worker(), &raw_, &unused);
  }
  bounds_of_waits(const bounds_of_waits&) = delete;
  bounds_of_waits& operator=(const bounds_of_waits&) = delete;
  ~bounds_of_waits() {
    heddle_frame unused{};
    heddle_within_close(this_worker(), &raw_, &unused);
  }

 private:
  heddle_within raw_{};
};
}  // namespace detail

/// A deadline for every wait until it ends, in called functions too: error.timeout. Of nested ones
/// the earliest counts.
class within : detail::bounds_of_waits {
 public:
  explicit within(nanoseconds span)
      : bounds_of_waits([&](heddle_worker* w, heddle_within* x, heddle_frame* self) {
          heddle_within_open(w, x, self, span.count());
        }) {}
};

/// Waits go on until it ends although the thread is cancelled or its deadline has passed.
class shield : detail::bounds_of_waits {
 public:
  shield() : bounds_of_waits(&heddle_shield_open) {}
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

[[gnu::cold]] inline void report_unhandled(const std::exception_ptr& thrown) noexcept {
  worker& w = worker::running();
  if (!w.reports(diagnostic_kind::unhandled_exception)) return;
  const std::vector<site> way = exception_lines(thrown);
  w.sched.report(
      {diagnostic_kind::unhandled_exception, way.empty() ? 0 : way.front(), 0, 1, thrown, way});
}

/// The status that a thread ends with, for this exception. One that is neither Draft's nor the
/// system's is reported with its lines, and ends the thread as a fault does.
[[nodiscard, gnu::cold, gnu::noinline]] inline std::int64_t status_of(
    const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const fault&) {
    return HEDDLE_FAULT;
  } catch (...) {
    try {
      const error e = failing(error_in_flight());
      if (e.code() >= own_error_min) abi::name_error(e.code(), e.name());
      return -std::int64_t{e.code()};
    } catch (...) {
      report_unhandled(thrown);
      return HEDDLE_FAULT;
    }
  }
}

/// A thread of heddle/abi.h that runs a task.
template <class T>
class task_thread : heddle_thread, join_of<T> {
 public:
  /// Null without memory; then the task has not run.
  [[nodiscard]] static heddle_frame* make(task<T> body, const std::source_location& where) {
    static constexpr heddle_thread_kind sized{nullptr, sizeof(task_thread), 0, 0, nullptr, nullptr,
                                              0};
    heddle_worker* const w = this_worker();
    void* const at = heddle_thread_new(w, &sized);
    if (at == nullptr) return nullptr;
    // A copy, because the constructor begins the lifetime of the frame anew.
    const heddle_thread blank = *static_cast<const heddle_thread*>(at);
    return &(new (at) task_thread(blank, std::move(body), where))->frame;
  }

 private:
  static_assert(alignof(stored<T>) <= 16);

  task_thread(const heddle_thread& made, task<T> body, const std::source_location& where)
      : heddle_thread(made), join_of<T>(&ended), body_(std::move(body)) {
    line_ = {where.file_name(), where.line(), "spawn"};
    const auto result = reinterpret_cast<char*>(&result_) - reinterpret_cast<char*>(&frame);
    own_kind_ = {nullptr, sizeof(task_thread), 0, static_cast<std::size_t>(result), &run, &line_,
                 1};
    kind = &own_kind_;
    frame.resume = &run;
    frame.destroy = &destroy_unstarted;
  }
  static task_thread& of(heddle_frame* f) noexcept {
    return static_cast<task_thread&>(*reinterpret_cast<heddle_thread*>(f));
  }
  static heddle_link run(heddle_frame* f, heddle_worker*) {
    task_thread& self = of(f);
    const auto h = self.body_.release();
    h.promise().set_parent(self);
    h.promise().context_low = f->context;
    return link_of(h);
  }
  static void destroy_unstarted(heddle_frame* f, heddle_worker* w) {
    task_thread& self = of(f);
    std::destroy_at(&self);
    heddle_free(w, f, sizeof(task_thread));
  }
  static std::coroutine_handle<> ended(join& j, worker& w) noexcept {
    auto& self = static_cast<task_thread&>(static_cast<join_of<T>&>(j));
    std::int64_t status = 0;
    if (j.error) {
      status = status_of(j.error);
    } else if constexpr (!std::is_void_v<T>) {
      try {
        self.result_ = cell<T>::put(self.take());
      } catch (...) {
        status = -ENOMEM;
      }
    }
    // heddle_end() takes the result and frees the memory. No caller waits for the link it gives.
    std::destroy_at(static_cast<join_of<T>*>(&self));
    static_cast<void>(heddle_end(reinterpret_cast<heddle_worker*>(&w), &self.frame, status));
    return {};
  }

  task<T> body_;
  heddle_wait_line line_;
  heddle_thread_kind own_kind_;
  typename cell<T>::raw result_{};
};

[[nodiscard]] inline std::int64_t join_without_result(heddle_worker* w, heddle_job* j,
                                                      heddle_wait* at, heddle_frame* self) {
  return heddle_join(w, j, nullptr, at, self);
}
[[nodiscard]] inline std::int64_t leave_scope(heddle_worker* w, heddle_scope* s, bool cancel,
                                              heddle_wait*, heddle_frame* self) {
  return heddle_scope_leave(w, s, self, cancel);
}

}  // namespace detail

/// A thread that may be joined. Thread: any worker's. Its end does not end the thread.
template <class T>
class job {
  using cell = detail::cell<T>;

 public:
  job() noexcept = default;
  /// Starts a thread: of a scope, or of a color.
  job(heddle_frame* thread, heddle_scope* in, std::int64_t color)
      : raw_(heddle_job_of(this_worker(), thread, in, color, cell::size, cell::drop)) {}

  /// Waits for the end of the thread and gives its result, once.
  [[nodiscard]] auto join() const {
    if constexpr (std::is_void_v<T>)
      return detail::ask<detail::join_without_result>(raw_.get());
    else
      return detail::ask<heddle_join, T, typename cell::raw>(raw_.get());
  }
  /// Asks the thread to end: its waits give error.canceled.
  void cancel() const { heddle_job_cancel(this_worker(), raw_.get()); }

 private:
  detail::owned_handle<heddle_job, heddle_job_release> raw_;
};

/// A thread of its own in this color, or in the one named.
template <class T>
job<T> spawn(task<T> body, std::source_location where = std::source_location::current()) {
  return {detail::task_thread<T>::make(std::move(body), where), nullptr, HEDDLE_SAME_COLOR};
}
template <class T>
job<T> spawn(color in, task<T> body, std::source_location where = std::source_location::current()) {
  return {detail::task_thread<T>::make(std::move(body), where), nullptr,
          static_cast<std::int64_t>(in.number)};
}
/// A task of a function that does not wait.
template <class F, class... Args>
[[nodiscard]] auto later(F f, Args... args) -> task<std::invoke_result_t<F&, Args...>> {
  co_return f(std::forward<Args>(args)...);
}

/// The threads of a with_scope(), whose block waits in a context of the scope's.
class scope {
 public:
  scope() {
    heddle_frame unused{};
    heddle_scope_open(this_worker(), &raw_, &unused);
  }
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

  template <class T>
  job<T> spawn(task<T> body, std::source_location where = std::source_location::current()) {
    return {detail::task_thread<T>::make(std::move(body), where), &raw_, HEDDLE_SAME_COLOR};
  }
  /// The threads are cancelled when the block is left.
  void cancel() noexcept { cancels_ = true; }
  /// Leaves the scope: ends when all of its threads have ended.
  [[nodiscard]] auto leave(bool early) {
    return detail::ask<detail::leave_scope>(&raw_, early || cancels_);
  }

 private:
  heddle_scope raw_{};
  bool cancels_ = false;
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
    static task<> settle(scope& jobs, bool early) { co_await jobs.leave(early); }
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

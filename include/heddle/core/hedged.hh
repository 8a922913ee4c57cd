// SPDX-License-Identifier: MIT
// hedged: asks several servers for the same answer, so that a slow one does not matter. The first
// call starts at once, the next after a delay without an answer, or as soon as one fails; the first
// answer is taken and the others are cancelled and waited for.
//
//   task<reply> ask(std::size_t i);                   // asks replica number i
//   reply r = co_await hedged(3, 50ms, ask);
#pragma once

#include <exception>
#include <optional>
#include <utility>

#include "heddle/core/combine.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/scope.hh"

namespace heddle {

namespace detail {

template <class T>
struct hedge {
  std::optional<stored_t<T>> answer;
  std::exception_ptr failure;
  rendezvous<> ended;
};

/// Runs one call; tells the rendezvous when the call has ended, and never throws.
template <class T>
task<> hedge_call(task<T> call, hedge<T>& h, event<> ended) {
  try {
    if constexpr (std::is_void_v<T>) {
      co_await std::move(call);
      h.answer.emplace();
    } else {
      stored_t<T> answer = co_await std::move(call);
      if (!h.answer) h.answer.emplace(std::move(answer));
    }
  } catch (...) {
    h.failure = std::current_exception();
    exception_moved_to(h.failure, &h);
  }
  ended.trigger();
}

}  // namespace detail

namespace detail {

template <class F>
auto run_hedged(std::size_t calls, nanoseconds delay, F make)
    -> task<called_task_value<F&, std::size_t>> {
  using value = called_task_value<F&, std::size_t>;
  HEDDLE_ASSERT(calls > 0, "hedged needs at least one call");
  detail::hedge<value> h;
  scope s;
  std::exception_ptr stopped;
  std::size_t started = 0, ended = 0;
  try {
    while (!h.answer && ended < calls) {
      if (started < calls) {
        s.spawn(detail::hedge_call<value>(make(started), h, h.ended.make_event()));
        ++started;
      }
      if (started < calls) {
        const auto told = co_await as_expected(with_timeout(h.ended, delay));
        if (told) {
          ++ended;
        } else if (told.error() != std::errc::timed_out) {
          detail::throw_failure(told.error());
        }
      } else {
        co_await h.ended;
        ++ended;
      }
    }
  } catch (...) {
    stopped = std::current_exception();  // cancelled from above
  }
  s.cancel();
  co_await s.settled();  // an answer is given back also if this wait was cancelled
  if (!h.answer) std::rethrow_exception(stopped ? stopped : h.failure);
  if constexpr (!std::is_void_v<value>) co_return std::move(*h.answer);
}

}  // namespace detail

/// Calls make(0), make(1), ... up to `calls` tasks. When all fail, the last failure is rethrown.
/// `make` is kept in the frame, and may capture.
template <class F>
[[nodiscard("co_await it")]] auto hedged(std::size_t calls, nanoseconds delay, F&& make) {
  detail::check_closures<F>();
  return detail::run_hedged<std::decay_t<F>>(calls, delay, std::forward<F>(make));
}

}  // namespace heddle

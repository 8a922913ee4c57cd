// SPDX-License-Identifier: MIT
// Gets the answer to a request and keeps the response in place, because responses are large to
// move. The answer is the refusal of an overloaded server, or comes from the handler.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "heddle/core/task.hh"
#include "heddle/http/response.hh"
#include "heddle/web/incoming.hh"
#include "web/exchange.hh"

namespace heddle::http {

/// Thread: the connection's color. Owns: the handler's frame while it runs, and its response.
/// Cancel: operation_canceled if the handler was cancelled. Fails: never otherwise; a handler that
/// fails is answered by an error.
class answer_wait : public join_of<response> {
 public:
  answer_wait(exchange& of, overload_control::credit& credit) noexcept
      : of_(of), asked_(of), credit_(credit) {}
  answer_wait(const answer_wait&) = delete;
  ~answer_wait() {
    if (handler_) handler_.destroy();  // the connection is destroyed while the handler waits
  }

  /// Calls the handler, unless the server is overloaded.
  [[nodiscard, gnu::always_inline]] bool await_ready() {
    of_.shed_ = !of_.shared_.shedding.admit(of_.head_, credit_);
    if (of_.shed_) [[unlikely]] {
      store(of_.shared_.shedding.refusal());
      return true;
    }
    of_.begin_handler(of_.shared_.answers);
    try {
      handler_ = of_.shared_.answer(asked_).release();
    } catch (...) {
      error = std::current_exception();
      return true;
    }
    HEDDLE_ASSERT(handler_, "a handler gave back a task that was awaited, spawned or moved from");
    return false;
  }
  [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> here) noexcept {
    waiter = here;
    handler_.promise().set_parent(*this);
    return heddle::detail::transfer_to(handler_);
  }
  [[nodiscard, gnu::always_inline]] response& await_resume() {
    handler_ = nullptr;
    if (of_.shared_.timed && !of_.shed_) [[unlikely]]
      heddle::detail::handler_ends();
    if (error) [[unlikely]]
      of_.answer_failure(*this);
    if (of_.started_status() == 0 && !of_.allows(value)) [[unlikely]]
      of_.replace(value);
    return value;
  }

 private:
  exchange& of_;
  request asked_;
  overload_control::credit& credit_;
  task<response>::handle handler_;
};

}  // namespace heddle::http

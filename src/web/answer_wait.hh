// SPDX-License-Identifier: MIT
// Waits for a handler and keeps its response in place, because responses are large to move.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "heddle/core/task.hh"
#include "heddle/http/response.hh"

namespace heddle::http {

/// Thread: the connection's color. Owns: the handler's frame while it runs.
class answer_wait : public join_of<response> {
 public:
  answer_wait() noexcept = default;
  answer_wait(const answer_wait&) = delete;
  ~answer_wait() {
    if (handler_) handler_.destroy();  // the connection is destroyed while the handler waits
  }
  /// Sets the response without a handler, or replaces one whose handler then failed.
  void put(response&& other) {
    if (has_value) {
      value = std::move(other);
    } else {
      store(std::move(other));
    }
  }
  /// Begins the wait; the caller then awaits this object.
  void begin(task<response> handler) noexcept { handler_ = handler.release(); }

  [[nodiscard]] bool await_ready() const noexcept {
    HEDDLE_ASSERT(handler_, "a handler gave back a task that was awaited, spawned or moved from");
    return false;
  }
  [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> here) noexcept {
    waiter = here;
    handler_.promise().set_parent(*this);
    return heddle::detail::transfer_to(handler_);
  }
  void await_resume() {
    handler_ = nullptr;
    if (error) [[unlikely]]
      std::rethrow_exception(std::move(error));
  }

 private:
  task<response>::handle handler_;
};

}  // namespace heddle::http

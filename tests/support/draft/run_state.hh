// SPDX-License-Identifier: MIT
// The state of an interpreted program: values, objects, jobs, deadlines, threads.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "draft/types.hh"

namespace heddle::draft {

struct object;

/// Any value. Texts, views and bytes are kept as bytes: a checked program sees no difference.
struct val {
  __int128 n = 0;
  std::string s;
  std::vector<val> parts;  ///< of a record, an array, an optional that has something
  std::shared_ptr<object> handle;
  const action_expr* action = nullptr;     ///< an action
  struct activation* action_in = nullptr;  ///< the variables that it sees
};

/// The operation failed; `or` of its own expression may handle it.
struct op_error {
  std::uint32_t code;
};
/// An error that leaves the function.
struct leaving {
  std::uint32_t code;
};
struct fault {
  std::string what;
};
struct unsupported {
  std::string what;
};
struct out_of_steps {};

/// Where waits are bounded and cancelled.
struct bound {
  bound* outer = nullptr;
  bool canceled = false;
  bool timed = false;
  bool shield = false;
  std::int64_t due = INT64_MAX;

  [[nodiscard]] std::optional<std::uint32_t> reason() const {
    for (const bound* b = this; b != nullptr; b = b->outer) {
      if (b->canceled) return error_code(timeout() ? "timeout" : "canceled");
      if (b->shield) return std::nullopt;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool timeout() const {
    for (const bound* b = this; b != nullptr; b = b->outer) {
      if (b->timed) return true;
      if (b->shield) return false;
    }
    return false;
  }
};

struct job_state {
  bool ended = false;
  std::uint32_t code = 0;
  bool faulted = false;
  val result;
  bool taken = false;
};

/// Whether an object that others may wait for was given up since this was last asked.
inline bool& released() noexcept {
  thread_local bool any = false;
  return any;
}

/// The object behind a handle or an owner.
struct object {
  std::deque<val> values;  ///< of a channel or a subscription
  std::size_t capacity = 0;
  bool closed = false;
  bool missed = false;
  std::int64_t left = 0;              ///< of a semaphore; of a rendezvous: events to come
  std::shared_ptr<object> joined_by;  ///< of an event: its rendezvous, until it is triggered
  std::optional<val> id;              ///< of an event<>
  std::vector<std::weak_ptr<object>> subscribers;  ///< of a broadcast
  std::shared_ptr<object> gives_back;              ///< of a permit
  std::shared_ptr<job_state> job;
  std::shared_ptr<bound> job_bound;
  ~object() {
    if (gives_back) ++gives_back->left;
    if (joined_by) --joined_by->left;
    if (gives_back || joined_by) released() = true;
  }
};

enum class way : std::uint8_t { on, brk, cont, ret };

struct activation {
  const function* fn = nullptr;
  std::unordered_map<const variable*, std::shared_ptr<val>> vars;
  val result;
  std::unordered_map<const expr*, std::shared_ptr<object>> events;  ///< of `event(x)` in `wait`
};

struct scope_state {
  std::vector<std::shared_ptr<job_state>> jobs;
  std::shared_ptr<bound> inside = std::make_shared<bound>();
};

struct thread_state {
  std::shared_ptr<bound> root = std::make_shared<bound>();
  bound* here = root.get();
  std::vector<scope_state*> scopes;
};

}  // namespace heddle::draft

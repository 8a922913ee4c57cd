// SPDX-License-Identifier: MIT
// A connection's operations: where their wait is recorded, and what they do in another color. The
// driver receives ahead of the readers, in the color that has read last; so the first operation in
// another color ends the receiving there, and waits until it has ended.
#pragma once

#include <cerrno>

#include "abi/objects.hh"
#include "abi/waiting.hh"

namespace heddle::abi {

/// The record of a wait on a connection: the frame's, or, for a frame that has none, one that the
/// connection keeps from the first call to the answer.
class conn_wait {
 public:
  conn_wait(heddle_conn* c, heddle_wait* at, heddle_frame* self) noexcept
      : of_(at == nullptr ? c : nullptr), self_(self), at_(at) {
    if (of_ == nullptr) return;
    for (kept* k = list(); k != nullptr; k = k->next)
      if (k->owner == self) at_ = &k->wait;
  }

  /// The kind of the wait that goes on; null if none does.
  [[nodiscard]] const void* kind() const noexcept { return at_ != nullptr ? at_->kind : nullptr; }
  /// Calls ask(heddle_wait*), and gives its answer. Fails: -ENOMEM.
  template <class Ask>
  [[nodiscard]] std::int64_t record(worker& w, Ask&& ask) {
    if (of_ == nullptr) return ask(at_);
    if (at_ == nullptr) {
      try {
        auto* const made = make<kept>(w, self_, list());
        input_of(of_).keep(made);
        at_ = &made->wait;
      } catch (...) {
        return -ENOMEM;
      }
    }
    const std::int64_t answer = ask(at_);
    if (answer != HEDDLE_PARKED) forget(w);
    return answer;
  }

 private:
  /// Jobs of one scope may wait on the same connection; a frame waits once at a time.
  struct kept {
    kept(heddle_frame* of, kept* behind) noexcept : owner(of), next(behind) {}
    heddle_wait wait{};
    heddle_frame* owner;
    kept* next;
  };
  [[nodiscard]] kept* list() const noexcept { return static_cast<kept*>(input_of(of_).kept()); }
  void forget(worker& w) noexcept {
    kept* before = nullptr;
    kept* k = list();
    for (; k->owner != self_; k = k->next) before = k;
    if (before == nullptr) {
      input_of(of_).keep(k->next);
    } else {
      before->next = k->next;
    }
    at_ = nullptr;
    drop(w, k);
  }

  heddle_conn* of_;  // null: the record is the frame's
  heddle_frame* self_;
  heddle_wait* at_;
};

/// Whether the driver may still receive for the connection, in another color than the worker's.
[[nodiscard]] inline bool reads_elsewhere(heddle_conn* c, const worker& w) noexcept {
  const std::uint32_t color = input_of(c).color();
  return color != no_color && color != w.color;
}

struct detached {};

/// The slow path of come_here(): begins to move the connection, or asks whether it has moved.
[[nodiscard]] std::int64_t move_here(heddle_worker* hw, heddle_conn* c, conn_wait& at,
                                     heddle_frame* self);

/// Takes the connection to the frame's color, if it was read in another one: HEDDLE_PARKED, 0, or
/// an error. Each operation that waits calls it first, each time that it is called.
[[nodiscard]] inline std::int64_t come_here(heddle_worker* hw, heddle_conn* c, conn_wait& at,
                                            heddle_frame* self) {
  const void* const kind = at.kind();
  if (kind == nullptr ? !reads_elsewhere(c, from(hw)) : kind != &task_run<detached>::ops) [[likely]]
    return 0;
  return move_here(hw, c, at, self);
}

}  // namespace heddle::abi

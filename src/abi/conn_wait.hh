// SPDX-License-Identifier: MIT
// Where the wait of an operation on a connection is recorded. A frame of compiled Draft has no
// record for it (`at` is null in heddle/abi.h): waits that the socket has no place for, such as
// those of writes, get one of the worker's cells, which the socket keeps.
#pragma once

#include <cerrno>
#include <utility>

#include "abi/objects.hh"

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

}  // namespace heddle::abi

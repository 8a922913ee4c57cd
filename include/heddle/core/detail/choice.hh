// SPDX-License-Identifier: MIT
// choice: several waits, of which exactly one may take something. A lock or channel asks the choice
// of a waiter before it gives it anything. If the choice was made for another branch, the lock goes
// on to the next waiter; so a wait that loses takes nothing. any() and select() make one choice
// over their branches.
//
// States of a choice: open -> made for one branch, for good. One color, so no atomics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "heddle/core/context.hh"

namespace heddle {

class choice {
 public:
  /// The ends of a wait that commit its branch: any end, or only an end with a value. A wait on a
  /// closed source ends without a value.
  enum class by : std::uint8_t { any_end, success };

  explicit choice(by b = by::any_end) noexcept : by_(b) {}
  choice(const choice&) = delete;
  choice& operator=(const choice&) = delete;

  /// Makes the choice for this branch; false when it was made for another one.
  [[nodiscard]] bool commit(std::size_t branch) noexcept {
    if (made_for_ == none) made_for_ = branch;
    return made_for_ == branch;
  }
  /// For a branch whose source has been closed: commits only if the choice is by any_end.
  [[nodiscard]] bool commit_end(std::size_t branch) noexcept {
    return by_ == by::any_end ? commit(branch) : open_to(branch);
  }
  [[nodiscard]] bool open_to(std::size_t branch) const noexcept {
    return made_for_ == none || made_for_ == branch;
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0};
  std::size_t made_for_ = none;
  by by_;
};

/// A possible branch of a choice: the base of awaiters that take something.
class choosable {
 public:
  choosable() noexcept {}
  /// Makes the awaiter a branch of c, so that it takes something only if it can commit the branch.
  /// Call this before the wait.
  void join_choice(choice& c, std::size_t branch) noexcept {
    choice_ = &c;
    branch_ = branch;
  }
  /// Whether the awaiter could still take what it is offered.
  [[nodiscard]] bool open() const noexcept {
    return choice_ == nullptr || choice_->open_to(branch_);
  }
  /// The last step before the awaiter takes something. If this is true, the awaiter must take it.
  [[nodiscard]] bool commit() noexcept { return choice_ == nullptr || choice_->commit(branch_); }
  /// The last step before the awaiter ends with nothing, because its source has been closed.
  [[nodiscard]] bool commit_end() noexcept {
    return choice_ == nullptr || choice_->commit_end(branch_);
  }
  /// Whether the awaiter belongs to no choice: it may then exchange values with every waiter.
  [[nodiscard]] bool alone() const noexcept { return choice_ == nullptr; }
  /// Whether both are branches of one choice, which cannot deal with each other.
  [[nodiscard]] bool rivals(const choosable& other) const noexcept {
    return choice_ != nullptr && choice_ == other.choice_;
  }

 protected:
  /// Whether a new wait ends at once, because its context is cancelled or its choice was made.
  [[nodiscard]] bool refused(const worker& w) const noexcept {
    return w.current_context().canceled() || !open();
  }
  /// Whether this is the usual case: no choice, and no request to cancel this context.
  [[nodiscard]] bool plain(const worker& w) const noexcept {
    return choice_ == nullptr && !w.current_context().canceled();
  }

 private:
  choice* choice_ = nullptr;
  std::size_t branch_;  // set with the choice: storing both at once delays the next load
};

namespace detail {

/// An awaiter that can join a choice. Adapters pass the choice on to the awaiter that they keep.
template <class Awaiter>
concept joins_choice = requires(Awaiter& a, choice& c, std::size_t i) { a.join_choice(c, i); };

/// Room for the record of a wait, which is made only when a function suspends: most locks are free
/// and most channels have room.
template <class Record>
class wait_room {
 public:
  wait_room() noexcept {}
  wait_room(const wait_room&) = delete;
  wait_room& operator=(const wait_room&) = delete;
  ~wait_room() {
    if (made_) [[unlikely]]
      std::destroy_at(&record_);
  }
  /// Notes that the wake has unlinked the record, so that there is nothing to destroy.
  void resumed() noexcept { made_ = false; }
  /// See wait::ask_to_end().
  void ask_to_end(worker& w) noexcept {
    if (made_) record_.ask_to_end(w);
  }
  template <class... Args>
  Record& make(Args&&... args) noexcept {
    made_ = true;
    return *std::construct_at(&record_, std::forward<Args>(args)...);
  }

 private:
  union {
    Record record_;
  };
  bool made_ = false;
};

}  // namespace detail
}  // namespace heddle

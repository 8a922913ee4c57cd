// SPDX-License-Identifier: MIT
// One piece of work that several look-ups wait for: a question to the servers, or the reading of
// the machine's files. It runs as a task of its own, so that the look-up which began it may end.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/deadline.hh"
#include "heddle/core/event.hh"
#include "names/cache.hh"

namespace heddle::names::detail {

/// Thread: one color. Cancel: when the last ticket goes, the work is cancelled, unless `kept`.
class flight {
 public:
  explicit flight(std::string k) : key(std::move(k)) {}
  flight(const flight&) = delete;
  ~flight() { end(); }

  /// Triggers the event at the end.
  void notify(event<> ended) { waiting_.push_back(std::move(ended)); }
  /// Ends the flight: with `got`, with an error, or cancelled.
  void end() noexcept {
    ended_ = true;
    for (const event<>& each : std::exchange(waiting_, {})) each.trigger();
  }
  void cancel() noexcept { stop.cancel(); }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  /// Whether the work has ended or is cancelled, so that a new look-up must not wait for it.
  [[nodiscard]] bool over() const noexcept { return ended_ || stop.canceled(); }

  const std::string key;
  cancel_source stop;
  answer_ref got;            ///< null: the work failed
  std::exception_ptr error;  ///< the reason, if the work was not cancelled
  bool kept = false;         ///< the work goes on without a ticket

 private:
  friend class ticket;
  std::size_t tickets_ = 0;
  bool ended_ = false;
  std::vector<event<>> waiting_;
};

/// The interest of one look-up in a flight, or an answer that was there at once.
class ticket {
 public:
  explicit ticket(answer_ref known) noexcept : known_(std::move(known)) {}
  explicit ticket(std::shared_ptr<flight> of) noexcept : of_(std::move(of)) { ++of_->tickets_; }
  ticket(ticket&&) noexcept = default;
  ticket& operator=(ticket&&) = delete;
  ~ticket() {
    if (of_ != nullptr && --of_->tickets_ == 0 && !of_->kept && !of_->ended()) of_->cancel();
  }

  [[nodiscard]] bool ended() const noexcept { return of_ == nullptr || of_->ended(); }
  [[nodiscard]] bool at_once() const noexcept { return of_ == nullptr; }
  void notify(event<> done) const { of_->notify(std::move(done)); }
  /// Lets the work go on after its last ticket is gone.
  void keep() const noexcept { of_->kept = true; }
  /// Whether the work has ended with addresses.
  [[nodiscard]] bool good() const noexcept {
    const answer* const a = of_ == nullptr ? known_.get() : of_->got.get();
    return ended() && a != nullptr && a->good();
  }
  /// The answer, after the work's end. Throws the work's exception, or operation_canceled.
  [[nodiscard]] answer_ref take() const {
    if (of_ == nullptr) return known_;
    if (of_->error) std::rethrow_exception(of_->error);
    if (of_->got == nullptr) throw failure(canceled_error());
    return of_->got;
  }

 private:
  answer_ref known_;
  std::shared_ptr<flight> of_;
};

}  // namespace heddle::names::detail

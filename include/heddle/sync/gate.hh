// SPDX-License-Identifier: MIT
// gate: the base of locks and semaphores: a number of units, handed out strictly in the order of
// the requests. The first waiter waits until all the units that it wants are free, and no other
// request overtakes it; waiters behind it that fit enter together with it. A mutex has one unit, a
// reader of a shared mutex takes one of many and a writer takes all.
#pragma once

#include <cstdint>
#include <source_location>
#include <utility>

#include "heddle/core/detail/choice.hh"
#include "heddle/core/event.hh"
#include "heddle/core/promise.hh"
#include "heddle/sync/detail/one_color.hh"

namespace heddle {

/// Thread: one color, the first that uses it; a use in another is reported (wrong-color).
/// Resumes: a waiter later, from the queue, never inside release().
/// Owns: nothing; it must outlive its holds and waiters.
/// Cancel: a waiter leaves the line at once and takes nothing; the waiters behind it move up.
class gate {
 public:
  gate(std::uint32_t units, const detail::one_color_kind& kind, std::source_location made) noexcept
      : units_(units), free_(units), kind_(kind), color_(made) {}
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() {
    HEDDLE_ASSERT(line_.empty(), "a lock ends while functions wait for it; end them first");
  }

  /// Units that were taken, given back when this dies. Movable; an empty one holds nothing.
  class [[nodiscard("what is not kept is given back at once")]] hold {
   public:
    hold() noexcept = default;
    hold(hold&& other) noexcept
        : home_(std::exchange(other.home_, nullptr)), units_(other.units_) {}
    hold& operator=(hold&& other) noexcept {
      if (this != &other) {
        release();
        home_ = std::exchange(other.home_, nullptr);
        units_ = other.units_;
      }
      return *this;
    }
    ~hold() { release(); }

    void release() noexcept {
      if (home_ != nullptr) std::exchange(home_, nullptr)->give_back(units_);
    }
    [[nodiscard]] explicit operator bool() const noexcept { return home_ != nullptr; }
    [[nodiscard]] std::uint32_t units() const noexcept { return home_ == nullptr ? 0 : units_; }
    [[nodiscard]] gate* home() const noexcept { return home_; }

   private:
    friend class gate;
    hold(gate& home, std::uint32_t units) noexcept : home_(&home), units_(units) {}
    gate* home_ = nullptr;
    std::uint32_t units_ = 0;
  };

  class awaiter;

  /// How many units have no holder. Waiters in line may need them all.
  [[nodiscard]] std::uint32_t free_units() const noexcept { return free_; }
  [[nodiscard]] std::size_t waiting() const noexcept { return line_.size(); }

 protected:
  /// Acquires units for a function that waits. `units` is at most the gate's number of units: see
  /// check_units().
  [[nodiscard]] awaiter acquire_units(std::uint32_t units, std::source_location where) noexcept;
  void check_units(std::uint32_t units) const noexcept {
    HEDDLE_ASSERT(units > 0 && units <= units_, "more units are asked for than there are");
  }
  /// Acquires for an event, which gets the hold. If the event ends before, it leaves the line.
  void acquire_units(std::uint32_t units, event<hold> done, std::source_location where);
  /// As acquire_units(), but never waits: an empty hold if it would have to.
  [[nodiscard]] hold try_acquire_units(std::uint32_t units, std::source_location where) noexcept {
    color_.check(kind_, where);
    return take(units) ? hold(*this, units) : hold();
  }
  /// Raises the number of units.
  void add_units(std::uint32_t units, std::source_location where) noexcept {
    color_.check(kind_, where);
    units_ += units;
    give_back(units);
  }

 private:
  /// A waiter in line.
  struct place : list_node {
    /// Gives the units to the waiter; false when it cannot take them any more.
    using give_function = bool (*)(place&, worker&) noexcept;
    place(give_function f, std::uint32_t n) noexcept : give(f), units(n) {}
    give_function give;
    std::uint32_t units;
  };
  struct event_place;

  [[nodiscard]] bool could_take(std::uint32_t units) const noexcept {
    return units <= free_ && line_.empty();
  }
  [[nodiscard]] bool take(std::uint32_t units) noexcept {
    if (!could_take(units)) return false;
    free_ -= units;
    return true;
  }
  void give_back(std::uint32_t units) noexcept {
    free_ += units;
    if (!line_.empty()) admit();
  }
  /// Lets in waiters whose units are free, from the front.
  void admit() noexcept;
  /// Called when a waiter has left the line: it may have blocked the others.
  void left() noexcept {
    if (!line_.empty()) admit();
  }

  std::uint32_t units_;
  std::uint32_t free_;
  bool admitting_ = false;
  list<place> line_;
  const detail::one_color_kind& kind_;
  detail::one_color color_;
};

/// Waits for a hold. In a cancelled context the wait ends at once with operation_canceled.
class [[nodiscard("co_await it")]] gate::awaiter : public choosable {
 public:
  awaiter(gate& home, std::uint32_t units) noexcept : home_(home), units_(units) {}
  awaiter(const awaiter& other) noexcept : awaiter(other.home_, other.units_) {}  // not yet begun
  ~awaiter() {
    if (given_ != 0) [[unlikely]]
      home_.give_back(units_);  // the function was ended between the wake and the run
  }

  [[nodiscard]] bool await_ready() noexcept {
    if (refused(worker::running())) [[unlikely]]
      return true;
    if (!home_.could_take(units_) || !commit()) return false;
    given_ = home_.take(units_) ? 1 : 0;
    return true;
  }
  void ask_to_end(worker& w) noexcept { room_.ask_to_end(w); }
  template <frame_promise P>
  void await_suspend(std::coroutine_handle<P> h) noexcept {
    record& r = room_.make(*this, link_of(h), worker::running());
    home_.line_.push_back(static_cast<place&>(r));
  }
  hold await_resume() {
    if (given_ == 0) [[unlikely]]
      detail::throw_failure(canceled_error());
    given_ = 0;
    return {home_, units_};
  }
  [[nodiscard]] result<hold> await_result() noexcept {
    if (std::exchange(given_, 0) == 0) return std::unexpected(canceled_error());
    return hold(home_, units_);
  }

 private:
  struct record : wait, place {
    record(awaiter& a, link frame, worker& w) noexcept
        : wait(kind_of_wait, frame, w), place(&give, a.units_), owner(a) {}
    ~record() {
      if (parked()) [[unlikely]]
        leave();
    }
    static bool give(place& p, worker& w) noexcept;
    static void cancel(wait& x, worker& w) noexcept;
    void leave() noexcept;
    static const wait_kind kind_of_wait;
    awaiter& owner;
  };

  gate& home_;
  std::uint32_t units_;
  std::uint32_t given_ = 0;  ///< 0 or 1; of this size so that one store sets it with units_
  detail::wait_room<record> room_;
};

inline gate::awaiter gate::acquire_units(std::uint32_t units, std::source_location where) noexcept {
  // Checked here, where the compiler keeps no values yet that the call could change.
  color_.check(worker::running(), kind_, where);
  return {*this, units};
}

}  // namespace heddle

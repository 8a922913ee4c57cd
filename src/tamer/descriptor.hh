// SPDX-License-Identifier: MIT
// The state that copies of a tamer::fd share, and the order of the operations on it: reads complete
// in the order of the calls, and writes too.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/io/tcp_source.hh"
#include "heddle/sched/driver.hh"
#include "tamer/descriptor_waits.hh"
#include "tamer/fd.hh"
#include "tamer/loop_state.hh"

namespace tamer::detail {

/// One side of a descriptor, in which one operation works at a time.
struct side {
  bool busy = false;
  std::deque<event<>> waiting;
};

/// A count of handles. With several workers, handles in all colors may change it; with one worker,
/// it needs no atomic operation.
class handle_count {
 public:
  explicit handle_count(unsigned n) noexcept : n_(n) {}
  void add() noexcept {
    if (heddle::tame::several_workers()) {
      n_.fetch_add(1, std::memory_order_relaxed);
    } else {
      n_.store(n_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
  }
  /// Adds a handle if there are others; false if there is none.
  [[nodiscard]] bool add_if_any() noexcept {
    unsigned n = n_.load(std::memory_order_relaxed);
    while (n != 0)
      if (n_.compare_exchange_weak(n, n + 1, std::memory_order_relaxed)) return true;
    return false;
  }
  /// Takes a handle away; whether it was the last.
  [[nodiscard]] bool drop() noexcept {
    // acq_rel: the last handle sees what was done through all others
    if (heddle::tame::several_workers()) return n_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    const unsigned left = n_.load(std::memory_order_relaxed) - 1;
    n_.store(left, std::memory_order_relaxed);
    return left == 0;
  }
  [[nodiscard]] bool any() const noexcept { return n_.load(std::memory_order_relaxed) != 0; }

 private:
  std::atomic<unsigned> n_;
};

/// The state that copies of an fd share.
struct descriptor {
  explicit descriptor(int n) : number(n) { heddle::tame::note_waits(n, &waits); }

  [[nodiscard]] static descriptor* of(const fd& f) noexcept { return f.state_; }
  /// Another fd of a descriptor; none if the last fd has gone.
  [[nodiscard]] static fd another(descriptor& d) noexcept {
    fd f;
    if (d.references.add_if_any()) f.state_ = &d;
    return f;
  }
  void drop() noexcept {
    if (!references.drop()) return;
    close(-EBADF);
    drop_weak();
  }
  void drop_weak() noexcept {
    if (weak_references.drop()) delete this;
  }
  void close(int leave) noexcept {
    if (number < 0) return;
    const int closing = std::exchange(number, leave < 0 ? leave : -leave);
    heddle::tame::note_waits(closing, nullptr);
    leave_door();
    heddle::tame::close_descriptor(closing, waits);
    for (event<>& e : std::exchange(closers, {})) e.trigger();
  }
  /// Ends the listening. After the end of the runtime the handle stays where it is: the state
  /// behind it has gone with the runtime.
  void leave_door() noexcept {
    if (door == nullptr) return;
    if (heddle::worker::current() == nullptr) {
      static_cast<void>(door.release());
      return;
    }
    door->close();
    door = nullptr;
  }
  /// Whether a call may block, so that it must not be made before the descriptor is ready.
  [[nodiscard]] bool blocks() noexcept {
    if (mode == unknown) {
      const int flags = ::fcntl(number, F_GETFL);
      mode = flags >= 0 && (flags & O_NONBLOCK) == 0 ? blocking : nonblocking;
    }
    return mode == blocking;
  }

  int number;
  handle_count references{1};
  handle_count weak_references{1};  ///< weak fdrefs, and one for all other handles
  enum : unsigned char { unknown, nonblocking, blocking } mode = unknown;
  side reading;
  side writing;
  heddle::tame::descriptor_waits waits;  ///< for readiness, in the drivers of any workers
  std::vector<event<>> closers;
  std::unique_ptr<heddle::listener> door;  ///< there if a tcp_source listens for the socket
  std::string surplus;  ///< bytes that an http_parser read behind its last message
};

/// An operation's turn on one side of a descriptor. The destructor passes the turn on.
class turn {
 public:
  explicit turn(side& s) noexcept : side_(&s) {}
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;
  ~turn() {
    if (!mine_) return;
    while (!side_->waiting.empty()) {
      event<> next = std::move(side_->waiting.front());
      side_->waiting.pop_front();
      if (!next) continue;
      next.trigger();
      return;
    }
    side_->busy = false;
  }
  [[nodiscard]] bool take() noexcept {
    if (side_->busy) return false;
    side_->busy = true;
    return mine_ = true;
  }
  void wait(event<> e) { side_->waiting.push_back(std::move(e)); }
  void got() noexcept { mine_ = true; }

 private:
  side* side_;
  bool mine_ = false;
};

/// The events that resume an operation.
enum waits_for : int { readiness, end_of_event, its_turn };

}  // namespace tamer::detail

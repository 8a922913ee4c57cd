// SPDX-License-Identifier: MIT
// The state that copies of a tamer::fd share, and the order of the operations on it: reads complete
// in the order of the calls, and writes too.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "heddle/sched/driver.hh"
#include "tamer/fd.hh"
#include "tamer/loop_state.hh"

namespace tamer::detail {

/// One side of a descriptor, in which one operation works at a time.
struct side {
  bool busy = false;
  std::deque<event<>> waiting;
};

/// The state that copies of an fd share. Counted without atomics: one thread.
struct descriptor {
  explicit descriptor(int n) : number(n) { heddle::tame::note_owned(n, true); }

  [[nodiscard]] static descriptor* of(const fd& f) noexcept { return f.state_; }
  /// Another fd of a descriptor.
  [[nodiscard]] static fd another(descriptor& d) noexcept {
    fd f;
    f.state_ = &d;
    ++d.references;
    return f;
  }
  void drop() noexcept {
    if (--references != 0) return;
    ++weak_references;  // keeps this object: closing may drop the last reference
    close(-EBADF);
    drop_weak();
  }
  void drop_weak() noexcept {
    if (--weak_references == 0 && references == 0) delete this;
  }
  void close(int leave) noexcept {
    if (number < 0) return;
    const int closing = std::exchange(number, leave < 0 ? leave : -leave);
    heddle::tame::note_owned(closing, false);
    if (heddle::worker* const w = heddle::worker::current(); w != nullptr && w->io != nullptr) {
      w->io->close(closing, *w);
    } else {
      ::close(closing);
    }
    for (event<>& e : std::exchange(closers, {})) e.trigger();
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
  unsigned references = 1;
  unsigned weak_references = 0;  ///< fdrefs that do not keep the descriptor open
  enum : unsigned char { unknown, nonblocking, blocking } mode = unknown;
  side reading;
  side writing;
  std::vector<event<>> closers;
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

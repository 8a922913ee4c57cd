// SPDX-License-Identifier: MIT
// A kernel driver that belongs to one of several workers. The worker whose driver it is uses it as
// ever. While that worker runs one frame for long, another worker may borrow the driver and take a
// turn with it, so that no completion waits for the end of that frame. A program with one worker
// uses the base class alone, and pays nothing for this.
//
// `holder_` is the worker that is inside a call now, or null. A worker that finds itself there is
// inside already (a completion submits the next operation). The owner waits for the holder: a
// borrower never sleeps in the driver. A borrower never waits: the owner may be asleep in turn().
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "heddle/core/worker.hh"
#include "heddle/sched/driver.hh"

namespace heddle {

/// Thread: the owner's; borrow(), and what is called until give_back(): any worker's.
template <class Base>
class shared_driver final : public Base {
 public:
  using Base::Base;

  [[nodiscard]] bool borrow(worker& w) noexcept override {
    const worker* free = nullptr;
    // acquire: pairs with the release in leave()
    if (!holder_.compare_exchange_strong(free, &w, std::memory_order_acquire,
                                         std::memory_order_relaxed))
      return false;
    if (&w != this->owner()) this->lend(true);
    return true;
  }
  void give_back(worker& w) noexcept override {
    if (&w != this->owner()) this->lend(false);
    leave();
  }

  [[nodiscard]] bool submit(operation& op, worker& w, completion& now) noexcept override {
    const use inside(*this, &w);
    return Base::submit(op, w, now);
  }
  void cancel(operation& op, worker& w) noexcept override {
    const use inside(*this, &w);
    Base::cancel(op, w);
  }
  void turn(worker& w, time_point until) noexcept override {
    const use inside(*this, &w);
    Base::turn(w, until);
    if (&w == this->owner()) return;
    // The owner's next turn is far away, so requests that are still unsent are sent now.
    for (int left = 2; left != 0 && this->unsent(); --left) Base::turn(w, time_point::min());
  }
  void close(int fd, worker& w) noexcept override {
    const use inside(*this, &w);
    Base::close(fd, w);
  }
  [[nodiscard]] std::size_t pending() const noexcept override {
    const use inside(*this);
    return Base::pending();
  }
  [[nodiscard]] block_statistics blocks() const noexcept override {
    const use inside(*this);
    return Base::blocks();
  }
  void return_block(std::uint32_t block) noexcept override {
    const worker* const w = worker::current();
    if (w == nullptr || (w != this->owner() && holder_.load(std::memory_order_relaxed) != w)) {
      this->return_from_afar(block);
      return;
    }
    const use inside(*this, w);
    this->take_back(block);
  }

  void adopt(int fd) noexcept override {
    const use inside(*this);
    Base::adopt(fd);
  }
  [[nodiscard]] int socket(int domain, int type, int protocol) noexcept override {
    const use inside(*this);
    return Base::socket(domain, type, protocol);
  }
  [[nodiscard]] int socket_pair(int (&ends)[2]) noexcept override {
    const use inside(*this);
    return Base::socket_pair(ends);
  }
  [[nodiscard]] int pipe(int (&ends)[2]) noexcept override {
    const use inside(*this);
    return Base::pipe(ends);
  }
  [[nodiscard]] int peer_name(int fd, ::sockaddr* out, unsigned* len) noexcept override {
    const use inside(*this);
    return Base::peer_name(fd, out, len);
  }
  [[nodiscard]] std::int64_t send_now(int fd, const ::iovec* pieces,
                                      std::size_t count) noexcept override {
    const use inside(*this);
    return Base::send_now(fd, pieces, count);
  }
  [[nodiscard]] std::int64_t send_file_now(int fd, const ::iovec& head, int file, std::uint64_t at,
                                           std::size_t count, bool never_waits) noexcept override {
    const use inside(*this);
    return Base::send_file_now(fd, head, file, at, count, never_waits);
  }

 private:
  /// One call, by this thread's worker unless another is named.
  class use {
   public:
    explicit use(const shared_driver& d) noexcept : use(d, worker::current()) {}
    use(const shared_driver& d, const worker* w) noexcept : driver_(d), entered_(d.enter(w)) {}
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    ~use() {
      if (entered_) driver_.leave();
    }

   private:
    const shared_driver& driver_;
    bool entered_;
  };
  /// Enters the driver. False: this worker is inside already, or this thread has no worker because
  /// the runtime ends.
  bool enter(const worker* w) const noexcept {
    if (holder_.load(std::memory_order_relaxed) == w) return false;
    const worker* free = nullptr;
    // acquire: pairs with the release in leave()
    while (!holder_.compare_exchange_weak(free, w, std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
      free = nullptr;
      ::sched_yield();
    }
    return true;
  }
  // release: pairs with the acquire in enter() and in borrow()
  void leave() const noexcept { holder_.store(nullptr, std::memory_order_release); }

  mutable std::atomic<const worker*> holder_{nullptr};
};

}  // namespace heddle

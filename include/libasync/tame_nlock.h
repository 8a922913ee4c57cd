/* SPDX-License-Identifier: MIT
 * tame::lock_table_t<T>: locks that are named by a T and exist while they are used. acquire() gives
 * a counted handle, whose last copy releases the lock. Thread: one color.
 */
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "tame_lock.h"

namespace tame {

template <class T>
class lock_table_t;

template <class T>
class lock_handle_t : public virtual refcount {
 public:
  lock_handle_t(std::shared_ptr<lock_t> lock, lock_table_t<T>* table, const T& name)
      : lock_(std::move(lock)), table_(table), name_(name) {}
  ~lock_handle_t() override {
    entered_.clear();
    cancel();
    release();
    table_->drop(name_, std::move(lock_));
  }
  /// Releases the lock early.
  void release() {
    if (std::exchange(held_, false)) lock_->release();
  }
  /// Gives up a wait.
  void cancel() {
    if (waiter_ != nullptr) lock_->cancel(std::exchange(waiter_, nullptr));
  }

 private:
  friend class lock_table_t<T>;
  std::shared_ptr<lock_t> lock_;
  lock_table_t<T>* table_;
  T name_;
  lock_t::waiter_t* waiter_ = nullptr;
  bool held_ = false;
  heddle::rendezvous<> entered_;  ///< the waiting function ends with it
};

template <class T>
class lock_table_t {
 public:
  lock_table_t() = default;
  lock_table_t(const lock_table_t&) = delete;
  lock_table_t& operator=(const lock_table_t&) = delete;

  /// A handle goes to *out at once; `done` is called when the lock is held.
  void acquire(ptr<lock_handle_t<T>>* out, T name, lock_t::mode_t mode, cbv done) {
    ptr<lock_handle_t<T>> handle = make(name);
    *out = handle;
    wait_in(handle.get(), mode, std::move(done));
  }
  /// As acquire(), for at most this time: `done` gets whether the lock is held.
  void timed_acquire(ptr<lock_handle_t<T>>* out, T name, lock_t::mode_t mode, unsigned seconds,
                     unsigned milliseconds, cbb done) {
    ptr<lock_handle_t<T>> handle = make(name);
    *out = handle;
    handle->lock_->timed_acquire(mode, seconds, milliseconds,
                                 heddle::function_event<bool>([handle, done](bool held) {
                                   handle->held_ = held;
                                   done(held);
                                 }));
  }
  /// How many names have a lock that is held or waited for.
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  friend class lock_handle_t<T>;
  static void wait_in(lock_handle_t<T>* h, lock_t::mode_t mode, cbv done) {
    h->waiter_ = h->lock_->acquire(mode, h->entered_.make_event());
    co_await heddle::tame::next(h->entered_);
    h->waiter_ = nullptr;
    h->held_ = true;
    done();
    co_return;
  }
  ptr<lock_handle_t<T>> make(const T& name) {
    std::shared_ptr<lock_t>& lock = all_[name];
    if (lock == nullptr) lock = std::make_shared<lock_t>();
    auto* const made = New refcounted<lock_handle_t<T>>(lock, this, name);
    return made;
  }
  void drop(const T& name, std::shared_ptr<lock_t> lock) {
    if (lock.use_count() == 2) all_.erase(name);  // this handle's and the table's
  }
  std::map<T, std::shared_ptr<lock_t>> all_;
};

}  // namespace tame
using tame::lock_handle_t;
using tame::lock_table_t;

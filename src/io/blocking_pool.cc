// SPDX-License-Identifier: MIT
// The pool's threads.
#include "io/blocking_pool.hh"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace heddle {
namespace {

constexpr auto idle_limit = std::chrono::seconds(10);

// A finished call's result waits in the link that the queue used before.
void keep_result(operation& op, std::int64_t result) noexcept {
  op.driver_prev = reinterpret_cast<operation*>(static_cast<std::intptr_t>(result));
}

}  // namespace

std::int64_t blocking_pool::result_of(const operation& op) noexcept {
  return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(op.driver_prev));
}

void blocking_pool::end() noexcept {
  std::unique_lock hold(lock_);
  ending_ = true;
  first_ = last_ = nullptr;
  work_.notify_all();
  gone_.wait(hold, [&] { return threads_ == 0; });
}

int blocking_pool::submit(operation& op) noexcept {
  const std::lock_guard hold(lock_);
  if (queued_ >= queue_max_) return -EAGAIN;
  if (idle_ <= queued_ && threads_ < threads_max_) {
    // Signals belong to the workers: the new thread inherits a full mask.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      std::thread([this] { run(); }).detach();
      ++threads_;
    } catch (...) {
      // As many as there are must do; with none the call cannot be made.
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (threads_ == 0) return -EAGAIN;
  }
  op.driver_next = nullptr;
  op.driver_prev = last_;
  (last_ != nullptr ? last_->driver_next : first_) = &op;
  last_ = &op;
  ++queued_;
  work_.notify_one();
  return 0;
}

void blocking_pool::unlink(operation& op) noexcept {
  (op.driver_prev != nullptr ? op.driver_prev->driver_next : first_) = op.driver_next;
  (op.driver_next != nullptr ? op.driver_next->driver_prev : last_) = op.driver_prev;
  --queued_;
}

bool blocking_pool::take_back(operation& op) noexcept {
  const std::lock_guard hold(lock_);
  operation* at = first_;
  while (at != nullptr && at != &op) at = at->driver_next;
  if (at != nullptr) unlink(op);
  return at != nullptr;
}

operation* blocking_pool::take_back_one(int fd) noexcept {
  const std::lock_guard hold(lock_);
  operation* at = first_;
  while (at != nullptr &&
         (at->fd != fd || at->code == op_code::call || at->code == op_code::resolve))
    at = at->driver_next;
  if (at != nullptr) unlink(*at);
  return at;
}

operation* blocking_pool::collect() noexcept {
  // acquire: pairs with the release in run()
  if (!finished_any_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard hold(lock_);
  finished_any_.store(false, std::memory_order_relaxed);
  operation* list = finished_;
  finished_ = nullptr;
  finished_end_ = &finished_;
  return list;
}

void blocking_pool::run() noexcept {
  std::unique_lock hold(lock_);
  while (!ending_) {
    if (first_ == nullptr) {
      ++idle_;
      const bool told =
          work_.wait_for(hold, idle_limit, [&] { return ending_ || first_ != nullptr; });
      --idle_;
      if (!told) break;
      continue;
    }
    operation& op = *first_;
    unlink(op);
    hold.unlock();
    const std::int64_t result = perform_blocking(op);
    hold.lock();
    keep_result(op, result);
    op.driver_next = nullptr;
    *finished_end_ = &op;
    finished_end_ = &op.driver_next;
    finished_any_.store(true, std::memory_order_release);  // release: pairs with collect()
    const std::uint64_t one = 1;
    static_cast<void>(!::write(wake_fd_, &one, sizeof one));
  }
  --threads_;
  gone_.notify_all();
}

}  // namespace heddle

// SPDX-License-Identifier: MIT
// Base of the three kernel drivers: calls on descriptors that never block, clocks, randomness, a
// pool of receive blocks, an eventfd that ends a sleep, and the pool of threads for calls that
// block. Derived: uring.cc, and readiness.cc with epoll.cc and poll.cc.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "heddle/sched/driver.hh"
#include "io/blocking_pool.hh"
#include "io/fd_epochs.hh"
#include "io/fd_table.hh"
#include "io/pool_watch.hh"

namespace heddle {

/// The data shared by the kernel drivers of one runtime.
struct driver_common {
  explicit driver_common(const driver_place& place) {
    if (place.workers > 1) epochs.emplace();
    kept_pool = std::make_shared<blocking_pool>(place.options);
  }
  std::shared_ptr<blocking_pool> kept_pool;  // by threads of look-ups, too
  std::optional<fd_epochs> epochs;
};

class kernel_driver : public driver {
 public:
  ~kernel_driver() override;

  void wake() noexcept override;
  /// Drains the wake-up for a foreign loop: a turn with no operation pending does not drain it, and
  /// the descriptor would stay readable.
  void drain_descriptor() noexcept override { drain_wake(); }
  [[nodiscard]] std::size_t pending() const noexcept override { return pending_; }
  void read_pool(pool_statistics& out) noexcept override { pool_.read(out); }
  [[nodiscard]] time_point now() noexcept override;
  [[nodiscard]] nanoseconds wall_time() noexcept override;
  [[nodiscard]] std::uint64_t random() noexcept override;

  [[nodiscard]] std::byte* block_at(std::uint32_t block) noexcept override {
    return blocks_ + std::size_t{block} * options_.block_bytes;
  }
  [[nodiscard]] std::uint32_t block_bytes() const noexcept override { return options_.block_bytes; }
  [[nodiscard]] block_statistics blocks() const noexcept override {
    return {options_.block_count, free_blocks(), scarce_};
  }
  void return_block(std::uint32_t block) noexcept override {
    const worker* const w = worker::current();
    if (w == nullptr || w == owner() || owner() == nullptr) [[likely]] {
      take_back(block);
    } else {
      return_from_afar(block);
    }
  }

  [[nodiscard]] int socket(int domain, int type, int protocol) noexcept override;
  [[nodiscard]] int bind(int fd, const ::sockaddr* to, unsigned len) noexcept override;
  [[nodiscard]] int listen(int fd, int backlog) noexcept override;
  [[nodiscard]] int local_name(int fd, ::sockaddr* out, unsigned* len) noexcept override;
  [[nodiscard]] int peer_name(int fd, ::sockaddr* out, unsigned* len) noexcept override;
  [[nodiscard]] int set_option(int fd, int level, int option, const void* value,
                               unsigned len) noexcept override;
  [[nodiscard]] int socket_pair(int (&ends)[2]) noexcept override;
  [[nodiscard]] int pipe(int (&ends)[2]) noexcept override;
  [[nodiscard]] int shutdown(int fd, int how) noexcept override;
  [[nodiscard]] std::int64_t send_file_now(int fd, const ::iovec& head, int file, std::uint64_t at,
                                           std::size_t count, bool never_waits) noexcept override;
  [[nodiscard]] std::size_t send_file_from() const noexcept override { return 16 * 1024; }
  [[nodiscard]] bool has_input(int fd) noexcept override;
  [[nodiscard]] unread_input unread(int fd) noexcept override;
  [[nodiscard]] int signal_source(std::uint64_t signal_mask) noexcept override;
  [[nodiscard]] int take_signal(std::uint64_t signal_mask) noexcept override;
  void release_signals(int fd, std::uint64_t signal_mask) noexcept override;

 protected:
  explicit kernel_driver(driver_place& place);

  [[nodiscard]] static std::int64_t send_from_file(int fd, const ::iovec& head, int file,
                                                   std::uint64_t at, std::size_t count) noexcept;

  static constexpr std::uint32_t no_block = ~std::uint32_t{0};
  [[nodiscard]] std::uint32_t take_block() noexcept {
    if (!free_blocks_.empty()) {
      const std::uint32_t block = free_blocks_.back();  // the last one returned: warm in the cache
      free_blocks_.pop_back();
      return block;
    }
    return fresh_blocks_ < options_.block_count ? fresh_blocks_++ : no_block;
  }

  [[nodiscard]] bool has_block() const noexcept {
    return !free_blocks_.empty() || fresh_blocks_ < options_.block_count;
  }
  [[nodiscard]] std::uint32_t free_blocks() const noexcept {
    return static_cast<std::uint32_t>(free_blocks_.size()) + options_.block_count - fresh_blocks_;
  }

  /// Whether few blocks are left for the completion that takes one; counts these completions.
  [[nodiscard]] bool note_scarce(std::uint32_t free, std::uint32_t count) noexcept {
    const bool few = block_statistics{count, free}.few_left();
    scarce_ += few ? 1 : 0;
    return few;
  }
  /// Notes that another worker uses this driver from now on, or no longer.
  virtual void lend(bool out) noexcept;

  /// Frees a block of this driver.
  virtual void take_back(std::uint32_t block) noexcept { free_blocks_.push_back(block); }
  /// Takes back blocks that other workers returned. `starving`: the next returned block wakes us.
  void collect_blocks(bool starving) noexcept {
    // seq_cst, both here and there: either we see the block or they see that we want it.
    if (starving) wants_blocks_.store(true, std::memory_order_seq_cst);
    if (blocks_afar_.load(std::memory_order_seq_cst) != 0) take_back_from_afar();
  }

  /// Marks an operation as held by the driver.
  void hold(operation& op, const worker& w) noexcept {
    op.move_to(delivery_state::pending);
    op.held = true;
    op.cancel_asked = op.out_of_memory = false;
    op.home = static_cast<std::uint8_t>(w.index);
    op.color = static_cast<std::uint16_t>(w.color);
    ++pending_;
  }
  /// Delivers a completion of a held operation; gives the answer of its complete function.
  bool deliver(operation& op, worker& w, const completion& c) noexcept {
    if (!c.more) {
      op.held = false;
      --pending_;
    }
    return bring(op, w, c);
  }

  /// Gives an operation to the blocking pool, which holds it from now on. False: it did not take
  /// it, and `now` says why.
  [[nodiscard]] bool send_to_pool(operation& op, worker& w, completion& now) noexcept;
  /// Delivers the calls that the pool has finished; true if there were any.
  bool collect_from_pool(worker& w) noexcept {
    return pool_.has_finished(port_) && deliver_finished(w);
  }
  /// Cancels an operation that send_to_pool() took.
  void cancel_in_pool(operation& op, worker& w) noexcept;
  [[nodiscard]] bool in_pool(const operation& op) const noexcept {
    return op.driver_state == pooled;
  }
  static constexpr std::uint8_t pooled = 0xff;
  /// Notes an operation whose number a thread looks up when it makes the call: until the operation
  /// leaves, the number stays taken, so that the call cannot meet another file under it. False: the
  /// number is closed already, and only waits for others to leave. Does nothing for operations
  /// that name no number.
  [[nodiscard]] bool enter_number(const operation& op);
  void leave_number(const operation& op) noexcept;
  /// Whether an operation has entered this number.
  [[nodiscard]] bool entered(int fd) noexcept {
    const number_use* const use = uses_.find(fd);
    return use != nullptr && use->calls != 0;
  }
  /// Closes a number, now or when the last operation leaves it. Calls on it that are queued in the
  /// pool end.
  void close_number(int fd, worker& w) noexcept;

  /// Called by a worker that does not own this driver.
  [[gnu::cold, gnu::noinline]] void return_from_afar(std::uint32_t block) noexcept;

  /// Empties the eventfd after a wake.
  void drain_wake() noexcept;

  /// The epochs if there are several workers; else null.
  [[nodiscard]] fd_epochs* shared_epochs() noexcept {
    return common_->epochs ? &*common_->epochs : nullptr;
  }

  driver_options options_;
  int wake_fd_ = -1;
  std::size_t pending_ = 0;
  std::byte* blocks_ = nullptr;
  std::vector<std::uint32_t> free_blocks_;
  std::uint32_t fresh_blocks_ = 0;  // blocks that were never taken
  std::uint64_t scarce_ = 0;        // completions marked scarce
  bool lent_ = false;               // another worker uses this driver now
  bool wake_taken_ = false;         // the borrowing worker drained a wake-up for the owner

 private:
  struct number_use {
    std::uint32_t calls = 0;  // operations that have entered and not left
    bool closing = false;     // the last of them closes the number
  };
  [[nodiscard]] number_use* use_of(const operation& op);
  [[gnu::noinline]] bool deliver_finished(worker& w) noexcept;
  void left_pool(operation& op) noexcept {
    op.driver_state = 0;
    leave_number(op);
  }
  [[gnu::cold, gnu::noinline]] void take_back_from_afar() noexcept;

  std::mutex afar_lock_;
  std::vector<std::uint32_t> afar_;  // guarded by it; capacity: at least block_count
  std::atomic<std::uint32_t> blocks_afar_{0};
  std::atomic<bool> wants_blocks_{false};

  const std::shared_ptr<driver_common> common_;
  blocking_pool& pool_ = *common_->kept_pool;
  const std::uint32_t port_;  // the port of this driver's worker in the pool
  pool_watch watch_{options_.pool_wait_report};
  fd_table<number_use> uses_;
  std::vector<int> closing_;
  std::array<std::uint64_t, 32> entropy_{};
  std::size_t entropy_used_ = 32;
};

/// Makes a kernel driver, one that other workers may borrow if there are several; throws failure
/// when it cannot run here.
[[nodiscard]] std::unique_ptr<driver> make_epoll_driver(driver_place& place);
[[nodiscard]] std::unique_ptr<driver> make_poll_driver(driver_place& place);

}  // namespace heddle

// SPDX-License-Identifier: MIT
// A driver that passes every call on to another one. Derive from it to watch or change a few calls:
//
//   struct counting : forwarding_driver {
//     using forwarding_driver::forwarding_driver;
//     bool submit(operation& op, worker& w, completion& now) noexcept override {
//       ++submitted;
//       return forwarding_driver::submit(op, w, now);
//     }
//   };
//   runtime_options options;
//   options.drivers = [](driver_place& p) {
//     return std::make_unique<counting>(make_driver("", p));
//   };
#pragma once

#include <utility>

#include "heddle/sched/driver.hh"

namespace heddle {

/// Owns: the inner driver.
/// Thread: as for the inner driver. With several workers, a worker that borrows this driver calls
///   turn(), cancel() and close() while the owner may be inside another call: members that those
///   functions change are atomic, or the derived class does not lend (it overrides borrow() to
///   return false).
class forwarding_driver : public driver {
 public:
  explicit forwarding_driver(std::unique_ptr<driver> inner) noexcept : inner_(std::move(inner)) {}

  [[nodiscard]] driver& inner() noexcept { return *inner_; }

  [[nodiscard]] const char* name() const noexcept override { return inner_->name(); }
  [[nodiscard]] bool simulated() const noexcept override { return inner_->simulated(); }
  /// Completions go from the inner driver straight to the runtime.
  void attach(worker& owner, completion_router& r) noexcept override {
    driver::attach(owner, r);
    inner_->attach(owner, r);
  }
  [[nodiscard]] bool borrow(worker& w) noexcept override { return inner_->borrow(w); }
  void give_back(worker& w) noexcept override { inner_->give_back(w); }
  [[nodiscard]] driver_files* blocking_files() noexcept override {
    return inner_->blocking_files();
  }

  // Operations.
  [[nodiscard]] bool submit(operation& op, worker& w, completion& now) noexcept override {
    return inner_->submit(op, w, now);
  }
  void cancel(operation& op, worker& w) noexcept override { inner_->cancel(op, w); }
  void turn(worker& w, time_point until) noexcept override { inner_->turn(w, until); }
  void wake() noexcept override { inner_->wake(); }
  [[nodiscard]] bool stalled() const noexcept override { return inner_->stalled(); }
  [[nodiscard]] std::size_t pending() const noexcept override { return inner_->pending(); }
  void read_pool(pool_statistics& out) noexcept override { inner_->read_pool(out); }
  [[nodiscard]] int descriptor() noexcept override { return inner_->descriptor(); }
  void drain_descriptor() noexcept override { inner_->drain_descriptor(); }
  [[nodiscard]] bool unsent() const noexcept override { return inner_->unsent(); }
  [[nodiscard]] block_statistics blocks() const noexcept override { return inner_->blocks(); }
  [[nodiscard]] std::byte* block_at(std::uint32_t block) noexcept override {
    return inner_->block_at(block);
  }
  [[nodiscard]] std::uint32_t block_bytes() const noexcept override {
    return inner_->block_bytes();
  }
  void return_block(std::uint32_t block) noexcept override { inner_->return_block(block); }

  // Clock.
  [[nodiscard]] time_point now() noexcept override { return inner_->now(); }
  [[nodiscard]] nanoseconds wall_time() noexcept override { return inner_->wall_time(); }
  [[nodiscard]] std::uint64_t random() noexcept override { return inner_->random(); }

  // Sockets.
  [[nodiscard]] int socket(int domain, int type, int protocol) noexcept override {
    return inner_->socket(domain, type, protocol);
  }
  [[nodiscard]] int bind(int fd, const ::sockaddr* to, unsigned len) noexcept override {
    return inner_->bind(fd, to, len);
  }
  [[nodiscard]] int listen(int fd, int backlog) noexcept override {
    return inner_->listen(fd, backlog);
  }
  [[nodiscard]] int local_name(int fd, ::sockaddr* out, unsigned* len) noexcept override {
    return inner_->local_name(fd, out, len);
  }
  [[nodiscard]] int peer_name(int fd, ::sockaddr* out, unsigned* len) noexcept override {
    return inner_->peer_name(fd, out, len);
  }
  [[nodiscard]] int set_option(int fd, int level, int option, const void* value,
                               unsigned len) noexcept override {
    return inner_->set_option(fd, level, option, value, len);
  }
  [[nodiscard]] int socket_pair(int (&ends)[2]) noexcept override {
    return inner_->socket_pair(ends);
  }
  [[nodiscard]] int pipe(int (&ends)[2]) noexcept override { return inner_->pipe(ends); }
  [[nodiscard]] int shutdown(int fd, int how) noexcept override {
    return inner_->shutdown(fd, how);
  }
  void adopt(int fd) noexcept override { inner_->adopt(fd); }
  void close(int fd, worker& w) noexcept override { inner_->close(fd, w); }
  [[nodiscard]] std::int64_t send_now(int fd, const ::iovec* pieces,
                                      std::size_t count) noexcept override {
    return inner_->send_now(fd, pieces, count);
  }
  [[nodiscard]] std::int64_t send_file_now(int fd, const ::iovec& head, int file, std::uint64_t at,
                                           std::size_t count, bool never_waits) noexcept override {
    return inner_->send_file_now(fd, head, file, at, count, never_waits);
  }
  [[nodiscard]] std::size_t send_file_from() const noexcept override {
    return inner_->send_file_from();
  }
  [[nodiscard]] bool has_input(int fd) noexcept override { return inner_->has_input(fd); }
  [[nodiscard]] unread_input unread(int fd) noexcept override { return inner_->unread(fd); }

  // Signals.
  [[nodiscard]] int signal_source(std::uint64_t signal_mask) noexcept override {
    return inner_->signal_source(signal_mask);
  }
  [[nodiscard]] int take_signal(std::uint64_t signal_mask) noexcept override {
    return inner_->take_signal(signal_mask);
  }
  void release_signals(int fd, std::uint64_t signal_mask) noexcept override {
    inner_->release_signals(fd, signal_mask);
  }

 protected:
  /// Replaces the inner driver, and gives the old one to the caller. Only while no operation is
  /// pending and no other worker can borrow it.
  [[nodiscard]] std::unique_ptr<driver> exchange_inner(std::unique_ptr<driver> next) noexcept {
    return std::exchange(inner_, std::move(next));
  }

 private:
  std::unique_ptr<driver> inner_;
};

}  // namespace heddle

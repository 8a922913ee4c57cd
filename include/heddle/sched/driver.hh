// SPDX-License-Identifier: MIT
// A driver is a worker's way to the outside world: operations, sockets, files, signals, and a
// clock, each an interface of its own. Room io implements drivers over io_uring, epoll and poll;
// room sim simulates a world. A program learns everything about the world through its drivers, so a
// simulated driver can replace the world.
//
// To change or watch a few calls of another driver, derive from forwarding_driver.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heddle/sched/driver_clock.hh"
#include "heddle/sched/driver_files.hh"
#include "heddle/sched/driver_operations.hh"
#include "heddle/sched/driver_place.hh"
#include "heddle/sched/driver_signals.hh"
#include "heddle/sched/driver_sockets.hh"

namespace heddle {

/// The receiver of a driver's completions: the runtime, which brings each to its color.
class completion_router {
 public:
  /// Returns the result of the operation's function, as far as it is known by then.
  virtual bool complete(operation& op, worker& w, const completion& c) noexcept = 0;

 protected:
  ~completion_router() = default;
};

/// Each worker has a driver of its own (in a simulation, all share one). An operation goes to the
/// driver of the worker that runs its color; its completions are brought to the color wherever that
/// runs by then.
/// Thread: the worker's, except where a member says otherwise.
class driver : public driver_operations,
               public driver_clock,
               public driver_sockets,
               public driver_signals {
 public:
  virtual ~driver() = default;

  /// "io_uring", "epoll", "poll", "sim", or another driver's name.
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  /// Whether the world is simulated: all workers then run on one thread and share the driver.
  [[nodiscard]] virtual bool simulated() const noexcept { return false; }

  /// The runtime calls this once, before it uses the driver: the driver belongs to `owner`, and its
  /// completions go to `r`. Without this call they go straight to their operations.
  virtual void attach(worker& owner, completion_router& r) noexcept {
    owner_ = &owner;
    router_ = &r;
  }
  /// A driver like this one, with the same limits, for one worker of a runtime; null where it
  /// cannot be made. A runtime with several workers calls it when it was built with a driver and
  /// not with a factory.
  [[nodiscard]] virtual std::unique_ptr<driver> for_worker([[maybe_unused]] driver_place& place) {
    return nullptr;
  }
  /// Lets worker `w`, which is not the owner, call turn() and cancel() here until give_back(),
  /// while the owner runs one frame for long. The borrower brings the completions. False: the
  /// driver is in use, or cannot be lent. A worker borrows its own driver before another worker's,
  /// so that two workers cannot wait for each other. Thread: any worker's.
  [[nodiscard]] virtual bool borrow([[maybe_unused]] worker& w) noexcept { return false; }
  virtual void give_back([[maybe_unused]] worker& w) noexcept {}

  /// Files for calls that the thread waits for; null: those of the system. See files_here().
  [[nodiscard]] virtual driver_files* blocking_files() noexcept { return nullptr; }

  // Declared again, so that the calls that are made most need no step to another base class.
  [[nodiscard]] time_point now() noexcept override = 0;
  [[nodiscard]] std::int64_t send_now(int fd, const ::iovec* pieces,
                                      std::size_t count) noexcept override {
    return driver_sockets::send_now(fd, pieces, count);
  }
  [[nodiscard]] std::int64_t send_file_now(int fd, const ::iovec& head, int file, std::uint64_t at,
                                           std::size_t count, bool never_waits) noexcept override {
    return driver_sockets::send_file_now(fd, head, file, at, count, never_waits);
  }
  [[nodiscard]] std::size_t send_file_from() const noexcept override {
    return driver_sockets::send_file_from();
  }
  [[nodiscard]] bool has_input(int fd) noexcept override { return driver_sockets::has_input(fd); }
  void close(int fd, worker& w) noexcept override = 0;

 protected:
  /// Delivers a completion; the operation may be gone afterwards if it was the last.
  bool bring(operation& op, worker& w, const completion& c) noexcept {
    if (router_ != nullptr) [[likely]]
      return router_->complete(op, w, c);
    if (!c.more) op.move_to(delivery_state::idle);
    return op.complete(op, w, c);
  }
  /// The worker whose driver this is; null before attach().
  [[nodiscard]] const worker* owner() const noexcept { return owner_; }

 private:
  completion_router* router_ = nullptr;
  const worker* owner_ = nullptr;
};

/// Why a driver was or was not chosen, for `heddle doctor` and for errors.
struct driver_probe {
  std::string name;  ///< "io_uring", "epoll", "poll"
  bool usable = false;
  std::string detail;  ///< the features that work, or the missing one
  std::string advice;  ///< the remedy, empty when none is needed
};

/// Makes the driver named by `choice` for one worker; an empty choice takes HEDDLE_DRIVER from the
/// environment, and without it the first usable of io_uring, epoll and poll. Throws failure when
/// the named one cannot run here, saying why and what to do. Defined in room sim.
[[nodiscard]] std::unique_ptr<driver> make_driver(const std::string& choice, driver_place& place);
/// As above, for the only worker of a runtime.
[[nodiscard]] std::unique_ptr<driver> make_driver(const std::string& choice,
                                                  const driver_options& options);
/// Tries each kernel driver, in the order of preference. Defined in room io.
[[nodiscard]] std::vector<driver_probe> probe_drivers();

}  // namespace heddle

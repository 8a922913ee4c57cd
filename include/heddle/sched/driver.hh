// SPDX-License-Identifier: MIT
// What the scheduler needs of the outside: operations in, completions out, time, randomness, and
// the few calls on descriptors that never block. Room io implements it: uring.cc, epoll.cc,
// poll.cc, sim.cc. Everything that a program learns about the world comes through here, so the
// simulation driver can replace the world.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/sched/operation.hh"
#include "heddle/sched/pool_statistics.hh"

struct iovec;
struct sockaddr;

namespace heddle {

/// Limits of a driver; each has its option in runtime_options.
struct driver_options {
  std::uint32_t block_bytes = 4096;    ///< size of one receive block
  std::uint32_t block_count = 1024;    ///< blocks a worker; memory is touched as they are used
  std::uint32_t queue_entries = 1024;  ///< io_uring submission entries
  std::uint32_t pool_threads_max = 8;  ///< threads for calls that block (files under epoll, names)
  std::uint32_t pool_queue_max = 65536;  ///< calls that may wait for one; more fail with EAGAIN
  nanoseconds pool_idle = std::chrono::seconds(10);  ///< an idle thread of the pool ends after it
  /// A call that waits for a thread longer than this is reported (blocking-calls-pile-up).
  nanoseconds pool_wait_report = std::chrono::seconds(1);
};

/// Of one driver's receive blocks.
struct block_statistics {
  std::uint32_t count = 0;   ///< that it has
  std::uint32_t free = 0;    ///< that nobody holds
  std::uint64_t scarce = 0;  ///< completions that said that few were left

  /// A quarter: enough for a turn of those that read at once.
  [[nodiscard]] bool few_left() const noexcept { return 4 * std::uint64_t{free} < count; }
};

/// Where a driver's completions go: to the runtime, which brings each to its color.
class completion_router {
 public:
  /// Gives what the operation's function says, as far as that is known by then.
  virtual bool complete(operation& op, worker& w, const completion& c) noexcept = 0;

 protected:
  ~completion_router() = default;
};

/// Each worker has one of its own (the simulation: one for all). An operation goes to the driver of
/// the worker that runs its color; its completions are brought to the color wherever that runs by
/// then. Thread: the worker's, except where a member
/// says otherwise.
class driver {
 public:
  virtual ~driver() = default;

  /// "io_uring", "epoll", "poll" or "sim".
  [[nodiscard]] virtual const char* name() const noexcept = 0;

  /// Takes a request. Returns false when its completions will come later, from turn(). Returns true
  /// when it is already done: then `now` holds its one completion and op.complete is not called
  /// (never for multishot operations). Never blocks, never fails otherwise. Operations of one kind
  /// that wait on one descriptor together share what comes; in which order they end is the
  /// driver's: who needs an order has one of them out at a time, as room io's lanes do. A
  /// receive_all that finds no block free waits until one comes back.
  [[nodiscard]] virtual bool submit(operation& op, worker& w, completion& now) noexcept = 0;

  /// Asks a pending operation to end. Its completion still comes, from turn() or inside this call,
  /// with what it really did, or -ECANCELED.
  virtual void cancel(operation& op, worker& w) noexcept = 0;

  /// Sends what is batched and delivers completions. Sleeps until there is one, until wake(), or
  /// until `until`; with `until` in the past it does not sleep, and makes no system call unless
  /// something is batched or may have completed.
  virtual void turn(worker& w, time_point until) noexcept = 0;

  /// Ends a sleep in turn(), or the next one. Thread: any. Async-signal-safe.
  virtual void wake() noexcept = 0;

  /// After a turn without limit: it ended because nothing can come any more. Only a simulated world
  /// knows that.
  [[nodiscard]] virtual bool stalled() const noexcept { return false; }

  /// Its world is made up: all workers run on one thread and share it.
  [[nodiscard]] virtual bool simulated() const noexcept { return false; }

  /// Operations that the driver holds.
  [[nodiscard]] virtual std::size_t pending() const noexcept = 0;
  /// Of the pool for calls that block; zeros where the driver has none (simulation).
  virtual void read_pool([[maybe_unused]] pool_statistics& out) noexcept {}

  [[nodiscard]] virtual time_point now() noexcept = 0;
  /// Wall-clock seconds and nanoseconds since 1970 (Date headers, file times).
  [[nodiscard]] virtual nanoseconds wall_time() noexcept = 0;
  [[nodiscard]] virtual std::uint64_t random() noexcept = 0;

  /// Told once, before it runs. Without it, completions go straight to their operations.
  void route_to(completion_router& r) noexcept { router_ = &r; }
  /// Told once, before it runs: it belongs to one runtime with `first`, and to the worker of this
  /// number.
  virtual void share_with([[maybe_unused]] driver& first, [[maybe_unused]] std::uint32_t worker) {}

  // Receive blocks. return_block: thread: any worker's.
  [[nodiscard]] virtual block_statistics blocks() const noexcept { return {}; }
  [[nodiscard]] virtual std::byte* block_at(std::uint32_t block) noexcept = 0;
  [[nodiscard]] virtual std::uint32_t block_bytes() const noexcept = 0;
  virtual void return_block(std::uint32_t block) noexcept = 0;

  // Calls that never block. Each returns >= 0 or -errno. Descriptors are non-blocking and
  // close-on-exec.
  [[nodiscard]] virtual int socket(int domain, int type, int protocol) noexcept = 0;
  [[nodiscard]] virtual int bind(int fd, const ::sockaddr* to, unsigned len) noexcept = 0;
  [[nodiscard]] virtual int listen(int fd, int backlog) noexcept = 0;
  [[nodiscard]] virtual int local_name(int fd, ::sockaddr* out, unsigned* len) noexcept = 0;
  [[nodiscard]] virtual int peer_name(int fd, ::sockaddr* out, unsigned* len) noexcept = 0;
  [[nodiscard]] virtual int set_option(int fd, int level, int option, const void* value,
                                       unsigned len) noexcept = 0;
  [[nodiscard]] virtual int socket_pair(int (&ends)[2]) noexcept = 0;  ///< Unix stream sockets
  [[nodiscard]] virtual int pipe(int (&ends)[2]) noexcept = 0;         ///< read end, write end
  [[nodiscard]] virtual int shutdown(int fd, int how) noexcept = 0;
  /// Sends what a socket takes of these pieces at this moment, without an operation; gives how many
  /// bytes. 0 also from a driver that gathers what it asks of the kernel, and where others wait to
  /// send.
  [[nodiscard]] virtual std::size_t send_now([[maybe_unused]] int fd,
                                             [[maybe_unused]] const ::iovec* pieces,
                                             [[maybe_unused]] std::size_t count) noexcept {
    return 0;
  }
  /// The same for a head, which may be empty, and behind it a part of a file that is in memory,
  /// which is not copied. Gives how many bytes left: 0 when the file ends there; else -errno,
  /// -EAGAIN where the socket is full or others wait to send.
  [[nodiscard]] virtual std::int64_t send_file_now([[maybe_unused]] int fd,
                                                   [[maybe_unused]] const ::iovec& head,
                                                   [[maybe_unused]] int file,
                                                   [[maybe_unused]] std::uint64_t at,
                                                   [[maybe_unused]] std::size_t count) noexcept {
    return -EAGAIN;
  }
  /// From what size on that costs less than a copy; the largest number: never.
  [[nodiscard]] virtual std::size_t send_file_from() const noexcept { return ~std::size_t{0}; }
  /// Whether reading or accepting would find something now.
  [[nodiscard]] virtual bool has_input([[maybe_unused]] int fd) noexcept { return false; }
  /// A descriptor from which `read` gives 8 bytes when a signal came since the last read; or
  /// -errno. The signals' actions do not take place from now on until release_signals.
  [[nodiscard]] virtual int signal_source(std::uint64_t signal_mask) noexcept = 0;
  /// The number of one that came and that nobody took; 0: none.
  [[nodiscard]] virtual int take_signal(std::uint64_t signal_mask) noexcept = 0;
  /// Before `fd` is closed.
  virtual void release_signals(int fd, std::uint64_t signal_mask) noexcept = 0;
  /// Ends the operations that are pending on it with -ECANCELED, and closes.
  virtual void close(int fd, worker& w) noexcept = 0;

 protected:
  /// Delivers a completion; the operation may be gone afterwards if it was the last.
  bool bring(operation& op, worker& w, const completion& c) noexcept {
    if (router_ != nullptr) [[likely]]
      return router_->complete(op, w, c);
    if (!c.more) op.pending = false;
    return op.complete(op, w, c);
  }

 private:
  completion_router* router_ = nullptr;
};

/// Why a driver was or was not chosen, for `heddle doctor` and for errors.
struct driver_probe {
  std::string name;  ///< "io_uring", "epoll", "poll"
  bool usable = false;
  std::string detail;  ///< what works, or what is missing
  std::string advice;  ///< what to do about it, empty when nothing
};

/// Makes the driver named by `choice`; an empty choice takes HEDDLE_DRIVER from the environment,
/// and without it the first usable of io_uring, epoll and poll. Throws failure when the named one
/// cannot run here, saying why and what to do. Defined in room io.
[[nodiscard]] std::unique_ptr<driver> make_driver(const std::string& choice,
                                                  const driver_options& options);
/// Tries each kernel driver, in the order of preference. Defined in room io.
[[nodiscard]] std::vector<driver_probe> probe_drivers();

}  // namespace heddle

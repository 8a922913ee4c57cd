// SPDX-License-Identifier: MIT
// Threads for calls that block: file calls where the driver has no better way, names, and
// op_code::call. A call goes straight to an idle thread, the one that was busy last; when there is
// none a thread is made, up to the crew's limit, and beyond that calls queue. A thread ends after
// `idle_limit` without a call. A queued call can be taken back; a running one is waited for.
//
// Look-ups of names have a crew of threads of their own, because a silent name server holds them
// for many seconds, and nothing can end them. So no worker waits for a running one: when it is
// taken back, its thread alone keeps the question, and may outlive the runtime.
//
// A runtime has one pool for all its workers: each driver gives calls and takes them back
// through a port of its own, the one of its worker's number (operation::home).
//
// State of an operation here: queued -> running -> finished (-> collected by its worker), or
// running at once. The lock guards the lists, the seats and the counts; `finished_any` lets a
// worker look without it.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "heddle/sched/driver.hh"

namespace heddle {

struct resolve_request;

class blocking_pool : public std::enable_shared_from_this<blocking_pool> {
 public:
  explicit blocking_pool(const driver_options& options) noexcept
      : crews_{crew{options.pool_threads_max}, crew{options.lookup_threads_max}},
        queue_max_(options.pool_queue_max),
        idle_limit_(options.pool_idle) {}
  ~blocking_pool() { end(); }
  /// Makes the ports up to this worker's. A write to the eventfd ends the worker's sleep. Call this
  /// before submit().
  void open_port(std::uint32_t worker, int wake_fd);
  /// Waits for the calls that run, but not for look-ups; drops queued ones (their owners have been
  /// told). Each worker's driver may call it when the runtime ends; the first call does it.
  void end() noexcept;

  enum class taken : std::uint8_t { no, running, queued };
  /// Gives the call to a thread, or queues it; op.home names its worker. `no` when the queue is
  /// full or no thread can be made.
  [[nodiscard]] taken submit(operation& op) noexcept;
  /// Takes a call back that is queued, or is a look-up; false when it runs or has run.
  [[nodiscard]] bool take_back(operation& op) noexcept;
  /// Takes one queued call of a worker on a descriptor back; null when there is none.
  [[nodiscard]] operation* take_back_one(std::uint32_t worker, int fd) noexcept;
  /// Whether a call of this worker has finished, by a quick check.
  [[nodiscard]] bool has_finished(std::uint32_t worker) const noexcept {
    // acquire: pairs with the release in run()
    return ports_[worker].finished_any.load(std::memory_order_acquire);
  }
  /// A worker's finished calls, as a list through driver_next; the results are in last_result.
  [[nodiscard]] operation* collect(std::uint32_t worker) noexcept;

  /// The call of a worker that has waited longest for a thread, or null, and how many of its calls
  /// wait. The call may begin to run at any time; its fields that only the worker writes can be
  /// read nevertheless. Linear in the queue's length.
  struct waiting_call {
    operation* op = nullptr;
    std::int64_t since_ns = 0;
    std::uint32_t count = 0;
  };
  [[nodiscard]] waiting_call oldest(std::uint32_t worker) noexcept;
  /// A call that has a thread now.
  struct running_call {
    operation* op = nullptr;  // only the worker that made the call may read the fields
    std::uint32_t worker = 0;
    std::int64_t since_ns = 0;
  };
  /// The calls that have run longest, of all workers, oldest first; as many as there is room for.
  /// Only look-ups, or only other calls. Returns how many. A call of the asking worker stays until
  /// that worker collects it. Linear.
  [[nodiscard]] std::size_t longest_running(std::span<running_call> out, bool look_ups) noexcept;
  /// How many calls of a worker wait.
  [[nodiscard]] std::uint32_t waiting(std::uint32_t worker) noexcept;
  void read(pool_statistics& out) noexcept;
  /// The clock of since_ns.
  [[nodiscard]] static std::int64_t clock_ns() noexcept;

 private:
  struct port {
    int wake_fd = -1;
    std::uint32_t queued = 0;
    operation* finished = nullptr;
    operation** finished_end = &finished;
    std::atomic<bool> finished_any{false};
  };
  struct seat;
  /// The threads for one sort of calls, and the queue of calls that wait for a thread.
  struct crew {
    std::uint32_t threads_max;
    std::uint32_t threads = 0;
    operation* first = nullptr;
    operation* last = nullptr;
    seat* idle = nullptr;  // the one that was busy last comes first
  };
  /// A thread, or room for one. A seat never moves, so that it can be notified without the lock.
  struct seat {
    std::thread thread;
    std::condition_variable called;
    operation* given = nullptr;
    std::int64_t given_since = 0;
    running_call now;  // nothing for a look-up that was taken back
    seat* next_idle = nullptr;
    crew* of = nullptr;
    bool occupied = false;
    bool drops_given = false;  // the given call is taken back
    bool asks = false;         // a look-up runs
  };
  void run(seat& own) noexcept;
  /// Takes the first queued call that is wanted out of the queue.
  template <class Wanted>
  [[nodiscard]] operation* take_first(Wanted wanted) noexcept;
  /// Waits for a call; null when the thread is to end.
  [[nodiscard]] operation* next_call(seat& own, std::unique_lock<std::mutex>& hold) noexcept;
  [[nodiscard]] bool add_thread(crew& to, operation& first, std::int64_t since) noexcept;
  static void take_head(crew& from) noexcept;
  void leave_idle(seat& own) noexcept;
  [[nodiscard]] crew& crew_of(const operation& op) noexcept {
    return crews_[op.code == op_code::resolve ? 1 : 0];
  }
  /// Leaves a look-up that was taken back to its thread. False if no thread has it.
  [[nodiscard]] bool let_go(const operation& op) noexcept;

  std::array<crew, 2> crews_;  // the second one looks names up
  const std::uint32_t queue_max_;
  const nanoseconds idle_limit_;
  std::deque<port> ports_;  // a deque, so that ports never move
  std::mutex lock_;
  std::vector<std::unique_ptr<seat>> seats_;
  bool ending_ = false;
  pool_statistics count_;
};

/// Makes the call that an operation describes, blocking; the result or -errno.
[[nodiscard]] std::int64_t perform_blocking(operation& op) noexcept;
/// Makes a call of op_code::resolve, blocking; the result or -errno.
[[nodiscard]] std::int64_t resolve_blocking(resolve_request& ask) noexcept;

}  // namespace heddle

// SPDX-License-Identifier: MIT
// The simulated world: its clock, the queue of what will happen, the descriptors, and the requests
// that the program has made of it. A request is
//   waiting   in its object's line, or for its moment in the queue;
//   finished  its last completion is in a lane, and a later turn delivers it.
// A lane is an order that must be kept: the completions of one object in one direction, or of one
// request. Among the lanes that have something to deliver, the seed picks.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <functional>
#include <map>
#include <unordered_map>

#include "sim/disk.hh"
#include "sim/faults.hh"
#include "sim/net.hh"
#include "sim/object.hh"
#include "sim/trace.hh"

namespace heddle {
class sim_driver;
}  // namespace heddle

namespace heddle::sim {

/// An operation that the world holds.
struct request {
  std::uint64_t number;
  operation* op;
  std::shared_ptr<object> target;  ///< null for paths, names and calls
  std::shared_ptr<object> folder;  ///< the folder where a path begins, open at submit()
  std::uint64_t lane;
  time_point not_before;
  std::uint32_t bytes_max;
  bool multishot;
  bool finished = false;  ///< the last completion is in `ready`
  bool started = false;   ///< a connect that is on its way
  std::deque<completion> ready;
};

class world {
 public:
  world(sim_driver& owner, sim_options o);
  ~world();

  // Forwarded by the driver (driver.cc and requests.cc).
  bool submit(operation& op, completion& now);
  void cancel(operation& op, worker& w);
  void turn(worker& w, time_point until);
  void close(int fd);
  void wake() noexcept;

  // The clock.
  [[nodiscard]] time_point time() const noexcept { return time_; }
  time_point read_clock() noexcept { return time_ += options.clock_step; }
  void advance(nanoseconds span) noexcept;
  [[nodiscard]] nanoseconds wall() const noexcept {
    return options.wall_start + (time_ - options.start);
  }

  // Called by the objects.
  void at(time_point when, std::move_only_function<void()> what);
  /// Runs `what` now if the span is zero, else after it.
  void after(nanoseconds span, std::move_only_function<void()> what);
  /// Has requests that wait for this object tried again before the world does anything else.
  void changed(object& o);
  void record(trace_kind kind, int fd, std::int64_t value, std::uint64_t number = 0);

  std::uint64_t next_object() noexcept { return ++objects_made_; }

  // Descriptors.
  [[nodiscard]] std::shared_ptr<object> find(int fd) const;
  int add_descriptor(std::shared_ptr<object> o);
  /// Adds both descriptors or none.
  int add_both(std::shared_ptr<object> (&made)[2], int (&ends)[2]);
  [[nodiscard]] bool descriptor_left() const noexcept {
    return descriptors_.size() < options.descriptors_max;
  }
  [[nodiscard]] std::size_t open_descriptors() const noexcept { return descriptors_.size(); }

  // Signals.
  bool raise_signal(int number);
  /// Drops raised signals that no source but `fd` listens to.
  void forget_signals(int fd, std::uint64_t mask);
  std::uint64_t signals_raised = 0;

  // Blocks.
  [[nodiscard]] std::byte* block_at(std::uint32_t block) noexcept { return blocks_[block].get(); }
  void return_block(std::uint32_t block) noexcept;
  [[nodiscard]] std::size_t blocks_out() const noexcept {
    return blocks_.size() - free_blocks_.size();
  }
  [[nodiscard]] block_statistics blocks() const noexcept {
    const std::uint32_t count = options.limits.block_count;
    return {count, count - static_cast<std::uint32_t>(blocks_out()), scarce_};
  }

  [[nodiscard]] std::size_t pending() const noexcept { return requests_.size(); }

  sim_options options;
  tape choices;  ///< drawn before what the seed gives
  trace log;
  faults trouble;
  random_stream chance;   ///< order, delays, races
  random_stream program;  ///< random numbers for the program
  network net;
  disk files;
  bool stalled = false;
  std::atomic<int> outside{0};

 private:
  sim_driver& driver_;
  using key = std::pair<time_point, std::uint64_t>;

  [[nodiscard]] request* find_request(std::uint64_t number) noexcept;
  void settle();
  void run_due();
  void jump(time_point to);
  void wait_outside() noexcept;
  void try_waiting(object& o);
  [[nodiscard]] bool start(request& r, const fault& f);
  [[nodiscard]] std::int64_t attempt(request& r, completion& c);
  [[nodiscard]] std::int64_t attempt_block(request& r, completion& c);
  /// Performs requests on paths, names and calls (perform.cc).
  [[nodiscard]] std::int64_t perform(request& r);
  [[nodiscard]] nanoseconds duration_of(const request& r);
  // Operations with argument types of room io (names.cc).
  [[nodiscard]] nanoseconds resolve_delay(const void* asked);
  [[nodiscard]] std::int64_t resolve(void* asked);
  [[nodiscard]] std::int64_t list_directory(const node& directory, void* out);
  void finish(request& r, completion c);
  void end_canceled(request& r);
  void deliver_one(worker& w);
  void deliver(std::uint64_t number, worker& w);
  void unready(request& r);

  time_point time_;
  std::uint32_t stalled_turns_ = 0;
  std::uint64_t steps_ = 0;  // numbers events, so that equal times keep their order
  std::uint64_t requests_made_ = 0;
  std::uint64_t objects_made_ = 0;
  std::map<key, std::move_only_function<void()>> queue_;
  std::deque<std::shared_ptr<object>> stirred_;
  std::map<int, std::shared_ptr<object>> descriptors_;
  int next_descriptor_;
  std::unordered_map<std::uint64_t, std::unique_ptr<request>> requests_;
  std::unordered_map<const operation*, std::uint64_t> by_operation_;
  std::unordered_map<std::uint64_t, std::deque<std::uint64_t>> lanes_;
  std::vector<std::uint64_t> ready_lanes_;
  std::uint64_t delivering_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::vector<std::uint32_t> free_blocks_;
  std::uint64_t scarce_ = 0;                      // completions marked scarce
  std::vector<std::shared_ptr<object>> starved_;  // objects whose receive_all waits for a block
  std::atomic<bool> woken_{false};
  ::sem_t bell_;
};

/// Takes a request's number out of a line of waiting requests.
inline void forget(std::deque<std::uint64_t>& line, std::uint64_t number) {
  std::erase(line, number);
}

}  // namespace heddle::sim

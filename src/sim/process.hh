// SPDX-License-Identifier: MIT
// One process of the simulated world: its descriptors, and the requests that it has made. A request
// is
//   waiting   in its object's line, or for its moment in the world's queue;
//   finished  its last completion is in a lane, and a later turn delivers it.
// A lane is an order that must be kept: the completions of one object in one direction, or of one
// request. Among the lanes that have something to deliver, the seed picks.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <unordered_map>

#include "heddle/io/directory_entry.hh"
#include "sim/blocking_files.hh"
#include "sim/faults.hh"
#include "sim/world.hh"

namespace heddle::sim {

/// An operation that the process has asked for.
struct request {
  std::uint64_t number;
  operation* op;
  worker* by;                      ///< the worker that asked for it
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

class process {
 public:
  process(world& home, computer& here, sim_driver& io);
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  ~process();

  // Forwarded by the driver (driver.cc and requests.cc).
  bool submit(operation& op, completion& now);
  void cancel(operation& op, worker& w);
  /// Delivers ready completions. In a world of one computer it also moves the time on.
  void turn(worker& w, time_point until);
  void close(int fd);
  void wake() noexcept;
  [[nodiscard]] time_point now() noexcept;
  [[nodiscard]] nanoseconds wall() noexcept;
  [[nodiscard]] std::uint64_t random() noexcept;
  /// The fault of a call that the test has set or drawn: 0 or -errno.
  [[nodiscard]] int draw_fault(sim_call call) noexcept;

  /// Ends the process for the others (death.cc): its descriptors are closed, and from now on
  /// nothing that it does reaches the world or is traced. Its requests end with -ECANCELED, and its
  /// clock goes on alone, so that its tasks can end and give their memory back.
  void cut(death how);
  /// Delivers the ends of its requests from now on: its tasks have been cancelled.
  void unwind() noexcept;
  /// Frees what only a running process needs; its objects may live on for their peers.
  void release();
  [[nodiscard]] bool is_cut() const noexcept { return cut_; }
  /// Turns since cut().
  [[nodiscard]] std::uint64_t turns_apart() const noexcept { return turns_apart_; }
  /// Whether a turn would deliver something.
  [[nodiscard]] bool has_work() const noexcept {
    return !ready_lanes_.empty() || woken_.load(std::memory_order_relaxed);
  }

  void record(trace_kind kind, int fd, std::int64_t value, std::uint64_t number = 0) {
    record(kind, number, op_code::poll, fd, value);
  }
  void record(trace_kind kind, std::uint64_t number, op_code code, int fd, std::int64_t value);
  void note(std::string_view text);

  // Descriptors.
  [[nodiscard]] std::shared_ptr<object> find(int fd) const;
  int add_descriptor(std::shared_ptr<object> o);
  /// Adds both descriptors or none.
  int add_both(std::shared_ptr<object> (&made)[2], int (&ends)[2]);
  /// Makes an open number mean this object.
  void replace_descriptor(int fd, std::shared_ptr<object> o);
  [[nodiscard]] bool descriptor_left() const noexcept {
    return descriptors_.size() < options.descriptors_max;
  }
  [[nodiscard]] std::size_t open_descriptors() const noexcept { return descriptors_.size(); }
  [[nodiscard]] std::int64_t list_directory(const inode& directory,
                                            std::vector<directory_entry>& out);
  /// Tries the requests that wait for this object.
  void try_waiting(object& o);

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

  computer& here;
  world& home;
  const sim_options& options;
  random_stream& chance;   ///< order, delays, races
  const std::string name;  ///< the computer's; web#2 after the first restart
  faults trouble;
  blocking_files files{*this};
  bool stalled = false;
  std::atomic<int> outside{0};

 private:
  [[nodiscard]] random_stream stream(char letter, const char* purpose);
  [[nodiscard]] request* find_request(std::uint64_t number) noexcept;
  request& add_request(operation& op);
  void wait_outside() noexcept;
  void turn_alone(worker& w, time_point until);
  void turn_apart(worker& w, time_point until);
  [[nodiscard]] std::size_t ready_completions() const;
  void deliver_ready(worker& w);
  [[nodiscard]] bool start(request& r, const fault& f);
  [[nodiscard]] std::int64_t attempt(request& r, completion& c);
  [[nodiscard]] std::int64_t attempt_block(request& r, completion& c);
  /// Performs requests on paths, names and calls (perform.cc).
  [[nodiscard]] std::int64_t perform(request& r);
  [[nodiscard]] nanoseconds duration_of(const request& r);
  // Operations with argument types of room io (names.cc).
  [[nodiscard]] nanoseconds resolve_delay(const void* asked);
  [[nodiscard]] std::int64_t resolve(void* asked);
  void finish(request& r, completion c);
  void end_canceled(request& r);
  void deliver_one(worker& w, std::size_t pick);
  void deliver(std::uint64_t number, worker& w);
  void unready(request& r);

  sim_driver& driver_;
  random_stream own_chance_;  // in a cluster
  random_stream program_;     // random numbers for the program
  bool cut_ = false, unwinds_ = false;
  time_point apart_{};  // the clock since cut()
  std::uint64_t turns_apart_ = 0;
  std::uint32_t stalled_turns_ = 0;
  std::uint64_t requests_made_ = 0;
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

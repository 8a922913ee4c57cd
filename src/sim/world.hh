// SPDX-License-Identifier: MIT
// The simulated world: the time, the queue of events, the network, chance and the trace, which all
// its computers share. A sim_driver that a program makes for itself makes a world of one computer,
// whose process moves the time on; a cluster (cluster.hh) moves it on itself.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sim/computer.hh"
#include "sim/faults.hh"
#include "sim/links.hh"
#include "sim/net.hh"
#include "sim/object.hh"
#include "sim/random.hh"
#include "sim/trace.hh"

namespace heddle {
class sim_driver;
}  // namespace heddle

namespace heddle::sim {

class world {
 public:
  explicit world(sim_options o);
  world(const world&) = delete;
  world& operator=(const world&) = delete;
  ~world();

  /// The one computer of a world that a sim_driver made for itself.
  computer& lone_computer();
  /// Adds a computer of a cluster.
  computer& add_computer(std::string name);
  /// Makes the process that runs on a computer from now on, with its driver.
  process& start(computer& on, sim_driver& io);
  [[nodiscard]] const std::vector<std::unique_ptr<computer>>& computers() const noexcept {
    return computers_;
  }
  /// All processes that ever ran, the oldest first.
  [[nodiscard]] const std::vector<std::unique_ptr<process>>& processes() const noexcept {
    return processes_;
  }
  /// Traces an event of the computer with this number; 0 is for the world.
  void record(trace_kind kind, unsigned computer, std::int64_t value);
  // Directions between computers, see links.hh.
  void cut(const computer& from, const computer& to);
  void heal(const computer& from, const computer& to);
  [[nodiscard]] bool is_cut(const computer& from, const computer& to) const noexcept {
    return between.is_cut(from.number, to.number);
  }
  /// Calls once when the direction, which is cut, has been healed for a while.
  void when_healed(computer& from, const computer& to, std::move_only_function<void()> what) {
    between.wait(from.number, to.number, {&from.wire, std::move(what)});
  }
  /// The computer to which packets for this address go, as `from` sends them; null if none has it.
  [[nodiscard]] computer* at_address(const address& a, computer& from) noexcept;

  // The clock, which is right: a computer's own may be wrong (local_clock).
  [[nodiscard]] time_point time() const noexcept { return time_; }
  time_point read_clock() noexcept { return time_ += options.clock_step; }
  void advance(nanoseconds span) noexcept;
  /// Takes back what reading the clock for a dump has added.
  void restore_time(time_point before) noexcept { time_ = before; }
  void jump(time_point to);

  // Events to come.
  void at(time_point when, std::move_only_function<void()> what);
  /// Runs `what` now if the span is zero, else after it.
  void after(nanoseconds span, std::move_only_function<void()> what);
  [[nodiscard]] time_point next_event() const noexcept {
    return queue_.empty() ? never : queue_.begin()->first.first;
  }
  void run_due();

  /// Has requests that wait for this object tried again before the world does anything else.
  void changed(object& o);
  void settle();

  /// The stream of chance of this name; streams of other names do not depend on it.
  [[nodiscard]] random_stream stream(const std::string& name);

  std::uint64_t next_object() noexcept { return ++objects_made_; }

  sim_options options;
  tape choices;                             ///< drawn before what the seed gives
  std::map<std::string, calm_ranges> calm;  ///< by the name of a stream
  fault_book faults;                        ///< faults of a cluster
  trace log;
  random_stream chance;  ///< order, delays, races of a lone process; a cluster's next node
  network net;
  links between;

 private:
  using key = std::pair<time_point, std::uint64_t>;

  time_point time_;
  std::uint64_t steps_ = 0;  // numbers events, so that equal times keep their order
  std::uint64_t objects_made_ = 0;
  std::map<key, std::move_only_function<void()>> queue_;
  std::deque<std::shared_ptr<object>> stirred_;
  std::vector<std::unique_ptr<computer>> computers_;
  std::vector<std::unique_ptr<process>> processes_;
};

}  // namespace heddle::sim

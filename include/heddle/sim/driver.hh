// SPDX-License-Identifier: MIT
// The simulation driver: a world in memory in which a program runs under test. Time is virtual,
// sockets, pipes and files live in this process, faults come at the rates that a test sets, and
// everything that is left to chance is drawn from one seed: the same seed gives the same run, which
// trace_hash() shows. Nothing here sleeps or makes a system call. docs/guide/simulation.md starts
// with an example.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/sched/driver.hh"
#include "heddle/sim/options.hh"

namespace heddle {

namespace sim {
class cluster;
class computer;
class process;
class world;
}  // namespace sim

/// Thread: one, except wake(). Owns: the whole world; it dies with the driver.
/// Cancel: a request may win or lose against a completion that comes at that time; the seed
/// decides.
///
///   auto world = std::make_unique<sim_driver>(sim_options{.seed = 7});
///   world->write_file("/www/index.html", "hello");
///   sim_driver& sim = *world;
///   runtime rt(std::move(world), {});
///   rt.run(program());
///   EXPECT_EQ(sim.open_descriptors(), 0u) << sim.trace_text();
class sim_driver final : public driver {
 public:
  explicit sim_driver(sim_options options = sim_options());
  ~sim_driver() override;
  sim_driver(const sim_driver&) = delete;
  sim_driver& operator=(const sim_driver&) = delete;

  // The file tree. Paths are absolute; planted files are durable, and missing parents are made.
  void write_file(std::string_view path, std::string_view content);
  void make_link(std::string_view path, std::string_view target);
  void make_directories(std::string_view path);
  void set_mode(std::string_view path, unsigned mode);
  /// Asserts that the file is there.
  [[nodiscard]] std::string read_file(std::string_view path) const;
  [[nodiscard]] bool exists(std::string_view path) const;
  /// All files by path, with their content.
  [[nodiscard]] std::map<std::string, std::string> files() const;
  /// The files that crash_disk() would leave at this moment.
  [[nodiscard]] std::map<std::string, std::string> durable_files() const;
  /// Acts as a power failure: content and names go back to their state at the last sync.
  /// Descriptors stay open on the files that they named.
  void crash_disk();

  // The network.
  /// Sets the link for everything that is sent to or from this address.
  void set_link(const ::sockaddr* address, unsigned len, sim_link link);
  /// Answers `resolve` after `delay` with numeric addresses; without any, the name does not exist.
  void set_host(std::string name, std::vector<std::string> addresses,
                nanoseconds delay = nanoseconds{1'000'000});
  /// Acts as a crash of the peer of this connected descriptor: both sides see a reset.
  void reset_connection(int fd);

  /// Sends a signal to a set that listens for it; false when there is none.
  bool raise_signal(int number);

  // Faults.
  void set_faults(op_code code, sim_rates rates);
  /// Ends the next `count` operations of this kind with `result` (-errno), without trying them.
  void fail_next(op_code code, int result, unsigned count = 1);
  void fail_next(sim_call call, int result, unsigned count = 1);

  // Time.
  /// Moves the clock without running anything; the next turn() delivers completions now due.
  void advance(nanoseconds span);
  /// The time since the world began. Clocks of nodes have no influence on it.
  [[nodiscard]] nanoseconds elapsed() const noexcept;
  /// Whether the process has ended, by itself or by a kill; its code has no effect then.
  [[nodiscard]] bool cut_off() const noexcept;
  /// Whether the last turn() had nothing to wait for: no completion can ever come by itself.
  [[nodiscard]] bool stalled() const noexcept override;
  [[nodiscard]] bool simulated() const noexcept override { return true; }
  [[nodiscard]] driver_files* blocking_files() noexcept override;
  /// Says that a thread outside of the simulation will call wake(). Until outside_ended(), a turn
  /// with nothing ready waits for that call in real time, and virtual time does not move.
  void outside_began() noexcept;
  void outside_ended() noexcept;

  // The trace, and the resources still in use.
  [[nodiscard]] std::uint64_t trace_hash() const noexcept;
  [[nodiscard]] std::string trace_text() const;
  /// Puts a remark of the program into the trace.
  void note(std::string_view text);
  [[nodiscard]] std::size_t open_descriptors() const noexcept;
  [[nodiscard]] std::size_t blocks_out() const noexcept;
  [[nodiscard]] std::uint64_t faults_injected() const noexcept;

  [[nodiscard]] const char* name() const noexcept override { return "sim"; }
  [[nodiscard]] bool submit(operation& op, worker& w, completion& now) noexcept override;
  void cancel(operation& op, worker& w) noexcept override;
  void turn(worker& w, time_point until) noexcept override;
  void wake() noexcept override;
  [[nodiscard]] std::size_t pending() const noexcept override;
  [[nodiscard]] time_point now() noexcept override;
  [[nodiscard]] nanoseconds wall_time() noexcept override;
  [[nodiscard]] std::uint64_t random() noexcept override;
  [[nodiscard]] std::byte* block_at(std::uint32_t block) noexcept override;
  [[nodiscard]] std::uint32_t block_bytes() const noexcept override;
  void return_block(std::uint32_t block) noexcept override;
  [[nodiscard]] block_statistics blocks() const noexcept override;
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
  [[nodiscard]] bool has_input(int fd) noexcept override;
  [[nodiscard]] unread_input unread(int fd) noexcept override;
  [[nodiscard]] int signal_source(std::uint64_t signal_mask) noexcept override;
  [[nodiscard]] int take_signal(std::uint64_t signal_mask) noexcept override;
  void release_signals(int fd, std::uint64_t signal_mask) noexcept override;
  void close(int fd, worker& w) noexcept override;

 private:
  friend class sim::cluster;
  friend class sim::process;
  /// Makes the driver of a new process on a computer of a cluster.
  sim_driver(std::shared_ptr<sim::world> w, sim::computer& on);

  std::shared_ptr<sim::world> world_;
  sim::process& process_;
};

}  // namespace heddle

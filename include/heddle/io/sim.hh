// SPDX-License-Identifier: MIT
// The simulation driver: a world in memory in which a program runs under test. Time is virtual,
// sockets, pipes and files live in this process, faults come as often as one asks for, and
// everything that is left to chance is drawn from one seed: the same seed gives the same run, which
// trace_hash() shows. Nothing here sleeps or makes a system call. docs/guide/simulation.md starts
// with an example.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/sched/driver.hh"

namespace heddle {

namespace sim {
class world;
}

/// How bytes travel between two sockets. Pipes and Unix sockets have no link.
struct sim_link {
  nanoseconds latency{10'000};  ///< from a send to its arrival
  nanoseconds jitter{0};        ///< more latency, drawn from 0 to this; keeps streams in order
  std::uint64_t bytes_per_second = 0;  ///< 0: as fast as one likes
  double loss = 0;                     ///< probability that a datagram is lost
};

/// How often each fault comes: probabilities from 0 to 1, drawn once for each operation.
struct sim_rates {
  double short_transfer = 0;  ///< a read or write moves fewer bytes than it could
  double interrupted = 0;     ///< EINTR
  double reset = 0;           ///< ECONNRESET: the connection is gone, for the peer too
  double no_memory = 0;       ///< ENOBUFS from sockets, ENOMEM from the rest
  double no_descriptors = 0;  ///< EMFILE from accept and open
  double io_error = 0;        ///< EIO from files
  double delayed = 0;         ///< the operation starts late, by up to sim_options::fault_delay_max
};

struct sim_options {
  std::uint64_t seed = 1;
  std::vector<std::uint8_t> choices = {};  ///< what chance draws first, before the seed: fuzzers
  time_point start{nanoseconds{1'000'000'000'000'000'000}};  ///< the clock's first value
  nanoseconds wall_start{1'000'000'000'000'000'000};         ///< wall time at that moment
  nanoseconds clock_step{1'000};  ///< what one reading of the clock takes

  sim_link link = {};     ///< between addresses that set_link() does not name
  double slow_links = 0;  ///< how often a connection gets slow_link instead
  sim_link slow_link{nanoseconds{200'000'000}, nanoseconds{50'000'000}, 32 * 1024, 0};
  sim_rates faults = {};     ///< for every kind of operation that set_faults() does not name
  double inline_rate = 0.5;  ///< how often an operation that can end at once ends in submit()
  nanoseconds disk_delay_max{50'000};        ///< files and calls end after 0 to this
  nanoseconds cancel_delay_max{20'000};      ///< a request to cancel travels for 0 to this
  nanoseconds fault_delay_max{100'000'000};  ///< for sim_rates::delayed

  driver_options limits = {};                     ///< blocks: block_bytes, block_count
  std::uint32_t socket_buffer_bytes = 64 * 1024;  ///< each direction, in flight included
  std::uint32_t pipe_buffer_bytes = 64 * 1024;
  std::uint32_t datagrams_max = 256;      ///< waiting at one socket; more are lost
  std::uint32_t backlog_max = 128;        ///< listen() cannot ask for more
  int first_descriptor = 1000;            ///< far from the kernel's, so that a mix-up shows
  std::uint32_t descriptors_max = 65536;  ///< open at once; more fail with EMFILE
  bool reuse_descriptors = false;         ///< give the lowest free number, as kernels do
  std::uint64_t disk_bytes_max = std::uint64_t{1} << 30;  ///< more fails with ENOSPC
  /// A program that waits for what can never come asks for turns forever; this many in a row, with
  /// nothing asked of the world in between, are an assertion.
  std::uint32_t stalled_turns_max = 1000;
  std::uint32_t trace_lines_max = 4096;  ///< trace_text() keeps the last ones; the hash covers all
};

/// Calls of the driver that are no operations and can be made to fail.
enum class sim_call : std::uint8_t { socket, bind, listen, socket_pair, pipe, signal_source };

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
  explicit sim_driver(sim_options options = {});
  ~sim_driver() override;
  sim_driver(const sim_driver&) = delete;
  sim_driver& operator=(const sim_driver&) = delete;

  // The file tree. Paths are absolute; what is planted is durable, and missing parents are made.
  void write_file(std::string_view path, std::string_view content);
  void make_link(std::string_view path, std::string_view target);
  void make_directories(std::string_view path);
  void set_mode(std::string_view path, unsigned mode);
  /// Asserts that the file is there.
  [[nodiscard]] std::string read_file(std::string_view path) const;
  [[nodiscard]] bool exists(std::string_view path) const;
  /// What a power failure does: content and names that were not synced are as they were when they
  /// last were. Descriptors stay open on what they named.
  void crash_disk();

  // The network.
  /// A link for everything that is sent to or from this address.
  void set_link(const ::sockaddr* address, unsigned len, sim_link link);
  /// Answers `resolve` after `delay` with numeric addresses; without any, the name does not exist.
  void set_host(std::string name, std::vector<std::string> addresses,
                nanoseconds delay = nanoseconds{1'000'000});
  /// As if the peer of this connected descriptor had crashed: both sides see a reset.
  void reset_connection(int fd);

  /// Sends a signal to whoever has a source for it; false when nobody has.
  bool raise_signal(int number);

  // Faults.
  void set_faults(op_code code, sim_rates rates);
  /// The next `count` operations of this kind end with `result` (-errno), without being tried.
  void fail_next(op_code code, int result, unsigned count = 1);
  void fail_next(sim_call call, int result, unsigned count = 1);

  // Time.
  /// Moves the clock without running anything; what became due is delivered by the next turn().
  void advance(nanoseconds span);
  /// True when the last turn() had nothing to wait for: no completion can ever come by itself.
  [[nodiscard]] bool stalled() const noexcept override;
  [[nodiscard]] bool simulated() const noexcept override { return true; }
  /// Says that a thread outside of the simulation will call wake(). Until outside_ended(), a turn
  /// with nothing ready waits for that call in real time, and virtual time stands still.
  void outside_began() noexcept;
  void outside_ended() noexcept;

  // What happened, and what is left.
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
  [[nodiscard]] int signal_source(std::uint64_t signal_mask) noexcept override;
  [[nodiscard]] int take_signal(std::uint64_t signal_mask) noexcept override;
  void release_signals(int fd, std::uint64_t signal_mask) noexcept override;
  void close(int fd, worker& w) noexcept override;

 private:
  friend class sim::world;
  std::unique_ptr<sim::world> world_;
};

}  // namespace heddle

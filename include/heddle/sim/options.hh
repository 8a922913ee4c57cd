// SPDX-License-Identifier: MIT
// The parameters of a simulated world: its links, its clock, the rate of each fault, the amount
// of everything. The defaults are a calm world; docs/guide/simulation.md shows rough ones.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/sched/driver.hh"

namespace heddle {

/// How bytes travel between two sockets. Pipes and Unix sockets have no link.
struct sim_link {
  nanoseconds latency{10'000};  ///< from a send to its arrival
  nanoseconds jitter{0};        ///< more latency, drawn from 0 to this; keeps streams in order
  std::uint64_t bytes_per_second = 0;  ///< 0: no limit
  double loss = 0;                     ///< probability that a datagram is lost
};

/// How often each fault comes: probabilities from 0 to 1, drawn once for each operation.
struct sim_rates {
  double short_transfer = 0;  ///< a read or write moves fewer bytes than it could
  double interrupted = 0;     ///< EINTR
  double reset = 0;           ///< ECONNRESET: the connection is gone, for the peer too
  double no_memory = 0;       ///< ENOBUFS from sockets, ENOMEM from the rest
  double no_descriptors = 0;  ///< EMFILE from accept, open, and calls such as socket()
  double io_error = 0;        ///< EIO from files
  double delayed = 0;         ///< the operation starts late, by up to sim_options::fault_delay_max
};

struct sim_options {
  std::uint64_t seed = 1;
  std::vector<std::uint8_t> choices = {};  ///< drawn first, before numbers of the seed: fuzzers
  time_point start{nanoseconds{1'000'000'000'000'000'000}};  ///< the clock's first value
  nanoseconds wall_start{1'000'000'000'000'000'000};         ///< wall time at that moment
  nanoseconds clock_step{1'000};  ///< the time that one reading of the clock takes

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
  /// A program that waits for an event that can never come takes turns forever. This many turns in
  /// a row without a request in between end in an assertion.
  std::uint32_t stalled_turns_max = 1000;
  std::uint32_t trace_lines_max = 4096;  ///< trace_text() keeps the last ones; the hash covers all
};

namespace sim {

/// How a process ends when it is killed.
enum class death : std::uint8_t {
  /// The computer loses its power: connections are reset. Each page of 4 KiB and each change of a
  /// name that was not synced is kept or lost, as the seed draws.
  power,
  /// As by SIGKILL: the kernel closes all descriptors, and the disk keeps everything.
  process,
};

}  // namespace sim

/// Calls of the driver that are no operations and can be made to fail.
enum class sim_call : std::uint8_t { socket, bind, listen, socket_pair, pipe, signal_source };

}  // namespace heddle

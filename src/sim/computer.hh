// SPDX-License-Identifier: MIT
// One computer of the simulated world: all that outlives a process on it. These are its name, its
// addresses, its clock and its disk. Its processes run one after the other.
#pragma once

#include <string>
#include <vector>

#include "heddle/sim/options.hh"
#include "sim/address.hh"
#include "sim/disk.hh"
#include "sim/random.hh"

namespace heddle::sim {

class process;

/// A clock that was set wrong, or that runs too fast or too slow. It never goes back.
class local_clock {
 public:
  local_clock() = default;
  /// Throws failure(invalid_argument) unless the rate is from 0.5 to 2.
  local_clock(time_point start, nanoseconds offset, double rate);

  /// The time that the clock shows at this time of the world.
  [[nodiscard]] time_point shown_at(time_point world_time) const noexcept;
  /// The first time of the world at which the clock shows this.
  [[nodiscard]] time_point when_shown(time_point shown) const noexcept;

 private:
  time_point start_{};
  nanoseconds offset_{0};
  std::int64_t skew_ppb_ = 0;  ///< how many nanoseconds too fast in a second
};

class computer {
 public:
  /// `number` is 0 in a world of one computer, which shares `chance` with its world; the computers
  /// of a cluster count from 1, and each has its own. `now` is the world's time and stays with it.
  computer(const sim_options& options, const time_point& now, unsigned number, std::string name,
           random_stream& chance, random_stream own);
  computer(const computer&) = delete;
  computer& operator=(const computer&) = delete;

  /// The time since the epoch, as this computer's clock has it.
  [[nodiscard]] nanoseconds wall() const noexcept;
  /// Whether packets to this address come here. A computer without addresses has them all.
  [[nodiscard]] bool has(const address& a) const noexcept;
  /// Whether it has an address of this family to send from.
  [[nodiscard]] bool speaks(int family) const noexcept;
  /// The address of this family that others see: the first one, or one for examples.
  [[nodiscard]] address outer(int family) const;

  const unsigned number;
  const std::string name;
  std::vector<address> addresses;  ///< without ports
  local_clock clock;
  nanoseconds wall_jumps{0};  ///< how far the clock of wall_time() was set forward

 private:
  const time_point& now_;
  time_point start_;
  nanoseconds wall_start_;
  random_stream own_wire_;

 public:
  random_stream& wire;  ///< for the network, of what this computer sends
  disk files;
  process* last = nullptr;  ///< the process that runs, or that ran last; the world has it
  unsigned started = 0;     ///< processes, in all
};

}  // namespace heddle::sim

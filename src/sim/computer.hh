// SPDX-License-Identifier: MIT
// One computer of the simulated world: all that outlives a process on it. These are its name, its
// addresses, its clock and its disk. Its processes run one after the other.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/disk.hh"
#include "sim/net.hh"
#include "sim/random.hh"

namespace heddle {
class sim_driver;
}  // namespace heddle

namespace heddle::sim {

class process;
class world;

/// A clock that was set wrong, or that runs too fast or too slow. It never goes back.
class local_clock {
 public:
  local_clock() = default;
  /// Throws failure(invalid_argument) unless the rate is from 0.5 to 2.
  local_clock(time_point start, nanoseconds offset, double rate);

  /// What the clock shows at this time of the world.
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
  /// `number` is 0 in a world of one computer; the computers of a cluster count from 1.
  computer(world& w, unsigned number, std::string name);
  computer(const computer&) = delete;
  computer& operator=(const computer&) = delete;
  ~computer();

  /// The time since the epoch, as this computer's clock has it.
  [[nodiscard]] nanoseconds wall() const noexcept;
  /// Whether packets to this address come here. A computer without addresses has them all.
  [[nodiscard]] bool has(const address& a) const noexcept;
  /// Whether it has an address of this family to send from.
  [[nodiscard]] bool speaks(int family) const noexcept;
  /// The address of this family that others see: the first one, or one for examples.
  [[nodiscard]] address outer(int family) const;
  /// Makes the process that runs here from now on.
  process& start(sim_driver& io);

  world& home;
  const unsigned number;
  const std::string name;
  std::vector<address> addresses;  ///< without ports
  local_clock clock;
  nanoseconds wall_jumps{0};  ///< how far the clock of wall_time() was set forward
  disk files;
  random_stream& wire;  ///< what the network does with what this computer sends
  std::vector<std::unique_ptr<process>> processes;  ///< the last one is the one that runs

 private:
  random_stream own_wire_;  // in a cluster
};

}  // namespace heddle::sim

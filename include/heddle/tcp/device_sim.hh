// SPDX-License-Identifier: MIT
// Wires between stacks in virtual time, with all that goes wrong on real ones. One seed gives one
// run: the same packets are lost, late, twice or damaged each time.
//
//   device_sim sim(seed);
//   const std::size_t a = sim.join({.delay_us = 10'000, .loss = 0.01});  // its other end is a + 1
//   stack client(options, sim.end(a), user), server(options, sim.end(a + 1), other);
//   sim.attach(a, client); sim.attach(a + 1, server);
//   sim.run_until(5'000'000);
#pragma once

#include <cstdint>
#include <memory>

#include "heddle/tcp/stack.hh"

namespace heddle::tcp {

/// One direction of a wire. Chances are per packet, from 0 to 1.
struct wire_options {
  std::uint32_t delay_us = 100;
  std::uint32_t jitter_us = 0;  // the most additional delay, so that packets overtake each other
  double loss = 0;
  double duplicate = 0;
  double reorder = 0;  // chance that a packet comes reorder_us later
  std::uint32_t reorder_us = 1000;
  double corrupt = 0;                      // one bit is flipped
  std::uint64_t bytes_per_second = 0;      // 0: no limit
  std::uint32_t queue_bytes = 256 * 1024;  // waiting for a wire with a limit; more is lost
  std::uint32_t mtu = 65535;  // larger packets are dropped, and their sender gets an ICMP error
  bool down = false;          // nothing passes
};

/// The outcome of a packet on a wire.
enum class fate : std::uint8_t { sent, delivered, lost, queue_full, too_big, down };

/// Sees every packet: the time, the end that sent it, its bytes, its fate.
using packet_watcher = void (*)(void* context, instant at, std::size_t end,
                                std::span<const std::byte> bytes, fate what);

/// Thread: one.
/// Owns: packets on their way. Stacks must be detached, or die, after the last run.
class device_sim {
 public:
  explicit device_sim(std::uint64_t seed);
  ~device_sim();
  device_sim(const device_sim&) = delete;
  device_sim& operator=(const device_sim&) = delete;

  /// Makes a wire, the same both ways. Returns the number of its first end; the other end has the
  /// next number.
  std::size_t join(const wire_options& both_ways);
  /// The network of the stack at this end.
  [[nodiscard]] network& end(std::size_t number);
  void attach(std::size_t number, stack& s);
  /// The direction that starts at this end; may be changed at any time.
  [[nodiscard]] wire_options& wire(std::size_t from);
  void watch(packet_watcher watcher, void* context) noexcept;
  /// Delivers a packet that a test made to the stack at an end, now.
  void inject(std::size_t number, std::span<const std::byte> bytes);

  [[nodiscard]] instant now() const noexcept;
  /// The time of the next event, if users write nothing before; never_due if none is left.
  [[nodiscard]] instant next_due() const noexcept;
  /// Sends the bytes that users have written, and runs the next event; false if no event is left.
  bool step();
  /// Runs all events up to this time, and sets the clock to it.
  void run_until(instant until);
  /// Runs until nothing is left, or the time is reached; returns whether nothing is left.
  bool run(instant at_most);

  /// A number below 2^64 of the generator that the faults come from.
  std::uint64_t random() noexcept;

  struct parts;

 private:
  std::unique_ptr<parts> parts_;
};

}  // namespace heddle::tcp

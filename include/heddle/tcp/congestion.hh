// SPDX-License-Identifier: MIT
// How fast a connection may send. An algorithm is one object for all connections; its state of
// one connection is a `congestion_memory` that the stack keeps. Reno (RFC 5681) and CUBIC
// (RFC 9438) are given; a program may bring its own.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "heddle/tcp/sequence.hh"

namespace heddle::tcp {

/// Zero at first, and again after the connection had nothing in flight for a while.
struct congestion_memory {
  std::array<std::uint64_t, 5> words{};
};

/// A connection as an algorithm sees and changes it. Bytes and microseconds.
struct congestion_path {
  std::uint32_t window = 0;              // may be set
  std::uint32_t threshold = UINT32_MAX;  // may be set
  std::uint32_t mss = 0;
  std::uint32_t in_flight = 0;  // before the acknowledgement
  std::uint32_t round_trip_us = 0;
  instant now = 0;
  /// How long the window was not the limit since the last call of acknowledged().
  instant paused_us = 0;
  congestion_memory* memory = nullptr;

  [[nodiscard]] bool slow_start() const noexcept { return window < threshold; }
};

/// Thread: one stack may call it at a time; an object that several stacks share has no state.
class congestion {
 public:
  virtual ~congestion() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Called when `bytes` were newly acknowledged outside of fast recovery. The stack calls this
  /// only if the window limited the sender (RFC 9438 section 5.8, RFC 7661's concern).
  virtual void acknowledged(congestion_path& p, std::uint32_t bytes) const noexcept = 0;
  /// Called when a loss begins an episode: sets the threshold. The stack moves the window there as
  /// the peer acknowledges (RFC 6937), or to one segment after a timeout.
  virtual void lost(congestion_path& p, bool by_timeout) const noexcept = 0;
  /// Called when the loss was spurious (RFC 4015): the stack has put back window, threshold and
  /// memory as they were before it.
  virtual void undone(congestion_path& p) const noexcept;
};

/// RFC 5681 with appropriate byte counting (RFC 3465).
[[nodiscard]] const congestion& reno() noexcept;
/// RFC 9438. The default.
[[nodiscard]] const congestion& cubic() noexcept;

}  // namespace heddle::tcp

// SPDX-License-Identifier: MIT
// Memory that crosses the edge of the stack, always by reference: packets that a device received,
// packets that it is to send, and pieces of data that a user writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace heddle::tcp {

/// A received packet in memory of the device, counted. The stack and the user retain it for as long
/// as they look at its bytes.
///
/// Thread: the stack's.
/// Owns: nothing; at the last release() the packet goes back to its home.
class packet {
 public:
  class home {
   public:
    virtual void take_back(packet& p) noexcept = 0;

   protected:
    ~home() = default;
  };

  packet() noexcept = default;
  packet(std::span<const std::byte> bytes, home& from) noexcept
      : packet(bytes, from, bytes.size()) {}
  /// A packet in a block of `footprint` bytes.
  packet(std::span<const std::byte> bytes, home& from, std::size_t footprint) noexcept
      : bytes_(bytes), home_(&from), footprint_(footprint) {}

  /// The packet's bytes, from the IP header on.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// The memory that stays in use while the packet is held.
  [[nodiscard]] std::size_t footprint() const noexcept { return footprint_; }
  /// The device has checked the sums already.
  bool sums_verified = false;

  void retain() noexcept { ++references_; }
  void release() noexcept {
    if (--references_ == 0) home_->take_back(*this);
  }

 private:
  std::span<const std::byte> bytes_;
  home* home_ = nullptr;
  std::size_t footprint_ = 0;
  std::uint32_t references_ = 1;
};

/// A packet on its way out: headers of IP and TCP, then payload where the user keeps it. Valid
/// during transmit() only; in stack::flush() the payload's bytes stay valid until that returns, so
/// that a device can join segments.
struct outgoing {
  std::span<const std::byte> header;
  std::span<const std::span<const std::byte>> payload;
  std::uint32_t payload_bytes = 0;
};

/// The way out for packets: a device, or wires of a simulation.
class network {
 public:
  /// Sends a packet. One that cannot be sent is dropped; TCP sends it again.
  virtual void transmit(const outgoing& p) noexcept = 0;

 protected:
  ~network() = default;
};

/// Gets a written piece back.
class piece_home {
 public:
  /// Called once for each accepted piece: when its last byte is acknowledged, or when the
  /// connection ends. It must not call the stack.
  virtual void released(std::uint64_t token) noexcept = 0;

 protected:
  ~piece_home() = default;
};

/// Bytes to send. They must not change until they are released.
struct send_piece {
  std::span<const std::byte> bytes;
  piece_home* home = nullptr;  // null: static memory
  std::uint64_t token = 0;
};

}  // namespace heddle::tcp

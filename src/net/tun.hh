// SPDX-License-Identifier: MIT
// A queue of a TUN device: packets of IP that the kernel routes to this program and takes from it.
// With offloads a packet has up to 64 KB and no checksum: segments that follow one another in a
// flush are joined, and the kernel splits them again only where the path needs it.
#pragma once

#include <sys/uio.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/tcp/packet.hh"
#include "heddle/tcp/stack.hh"
#include "net/packet_trace.hh"

namespace heddle::net::detail {

/// Counters of one queue.
struct tun_counters {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t segments_joined = 0;
  std::uint64_t refused = 0;  // packets that the device did not take
};

/// Thread: one.
/// Owns: the descriptor, and blocks for packets that the stack keeps.
/// Fails: the constructor throws failure, with commands that help.
class tun_queue final : public tcp::network, public tcp::packet::home {
 public:
  tun_queue(const std::string& device, bool offloads);
  tun_queue(const tun_queue&) = delete;
  tun_queue& operator=(const tun_queue&) = delete;
  ~tun_queue();

  [[nodiscard]] int number() const noexcept { return fd_; }
  /// The descriptor, which is the caller's to close from now on.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  [[nodiscard]] std::uint32_t mtu() const noexcept { return mtu_; }
  [[nodiscard]] bool offloads() const noexcept { return offloads_; }
  [[nodiscard]] const tun_counters& counters() const noexcept { return counters_; }

  /// Brings one packet to the stack; false if there is none. Throws failure if the device is gone.
  [[nodiscard]] bool read_into(tcp::stack& s, tcp::instant now);

  /// Between begin_joining() and end_joining(), segments that fit together leave as one packet.
  void begin_joining() noexcept { joining_ = offloads_; }
  void end_joining() noexcept;

  /// Records the packets of both directions in this trace.
  void set_trace(packet_trace* to) noexcept { trace_ = to; }

  void transmit(const tcp::outgoing& p) noexcept override;
  void take_back(tcp::packet& p) noexcept override;

 private:
  static constexpr std::size_t packet_bytes_max = 65535;
  struct block {
    tcp::packet view;  // first: take_back() finds the block by it
    std::array<std::byte, packet_bytes_max> bytes;
  };
  /// The kernel's header before each packet (struct virtio_net_hdr, whose C header is no C++).
  struct offload_header {
    std::uint8_t flags = 0;
    std::uint8_t kind = 0;
    std::uint16_t header_bytes = 0;
    std::uint16_t segment_bytes = 0;
    std::uint16_t sum_from = 0;
    std::uint16_t sum_at = 0;
  };
  static_assert(sizeof(offload_header) == 10);
  static constexpr std::size_t spans_max = 256;

  [[nodiscard]] bool joins(const tcp::outgoing& p) const noexcept;
  void hold(const tcp::outgoing& p) noexcept;
  void send_held() noexcept;
  void write_held(const offload_header& offload) noexcept;
  [[nodiscard]] block* take_block();

  int fd_ = -1;
  std::uint32_t mtu_ = 1500;
  bool offloads_;
  bool joining_ = false;
  tun_counters counters_;
  packet_trace* trace_ = nullptr;

  // The packet that waits for more segments: its header, and the payload where users keep it.
  std::array<std::byte, tcp::header_bytes_max> header_;
  std::size_t header_bytes_ = 0;  // 0: no packet waits
  std::uint32_t held_bytes_ = 0;
  std::uint32_t segment_bytes_ = 0;  // payload bytes of each segment but the last
  std::uint32_t held_segments_ = 0;
  bool last_is_short_ = false;
  std::array<::iovec, spans_max> spans_;
  std::size_t span_count_ = 0;  // the first two are the headers

  std::vector<std::unique_ptr<block>> blocks_;
  std::vector<block*> free_;
};

}  // namespace heddle::net::detail

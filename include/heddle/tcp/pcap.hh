// SPDX-License-Identifier: MIT
// Packet traces in the format that tcpdump and Wireshark open (pcap). A trace of ours has link type
// "raw IP" and times in microseconds. pcap_trace collects it in memory, and pcap_reader reads those
// of others, too. A trace may have notes between the packets: the state of a connection, as a
// packet of a protocol number for experiments, which other programs pass over.
//
//   pcap_trace trace(1 << 20);
//   sim.watch(pcap_trace::watch, &trace);   // ... run ...
//   file.write(trace.bytes());
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heddle/tcp/device_sim.hh"

namespace heddle::tcp {

/// Thread: one.
/// Owns: the bytes, at most as many as it was made for; packets beyond that are counted only.
class pcap_trace {
 public:
  explicit pcap_trace(std::size_t bytes_max);
  void add(instant at, std::span<const std::byte> packet);
  /// A watcher of device_sim: takes each packet once, when it is sent.
  static void watch(void* trace, instant at, std::size_t end, std::span<const std::byte> packet,
                    fate what);
  /// A watcher of stacks: takes their notes.
  static void note(void* trace, const connection_info& i, instant at);
  /// The whole file.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t packets() const noexcept { return packets_; }
  /// Packets for which there was no room.
  [[nodiscard]] std::size_t left_out() const noexcept { return left_out_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t bytes_max_;
  std::size_t packets_ = 0;
  std::size_t left_out_ = 0;
};

/// The state of a connection in its stack, after a flush.
struct pcap_note {
  flow between;
  state now = state::closed;
  bool recovering = false;
  std::uint32_t window_bytes = 0;  // cwnd
  std::uint32_t threshold_bytes = 0;
  std::uint32_t in_flight_bytes = 0;
  std::uint32_t peer_window_bytes = 0;
  std::uint32_t round_trip_us = 0;
  std::uint32_t timeout_us = 0;
  friend bool operator==(const pcap_note&, const pcap_note&) = default;
};

[[nodiscard]] pcap_note note_of(const connection_info& i) noexcept;

/// The protocol of notes (RFC 3692: for experiments).
inline constexpr std::uint8_t protocol_note = 253;

/// IPv6 (40) and the note's own bytes.
inline constexpr std::size_t note_bytes_max = 40 + 40;
/// Writes a note as a packet and returns its length.
[[nodiscard]] std::size_t write_note(const pcap_note& n,
                                     std::span<std::byte, note_bytes_max> out) noexcept;
/// Reads the note in `ip.body`; false: it is none.
[[nodiscard]] bool parse_note(const ip_head& ip, pcap_note& out) noexcept;

inline constexpr std::size_t pcap_file_head_bytes = 24;
inline constexpr std::size_t pcap_packet_head_bytes = 16;
/// Writes the head of a file of ours, and the head of a packet of which `kept` bytes follow.
void write_pcap_head(std::span<std::byte, pcap_file_head_bytes> out) noexcept;
void write_pcap_packet_head(std::span<std::byte, pcap_packet_head_bytes> out, instant at,
                            std::size_t kept, std::size_t length) noexcept;

/// A packet of a trace: the bytes that were kept, from the header of IP on.
struct traced_packet {
  instant at = 0;
  std::span<const std::byte> bytes;
  std::size_t length = 0;  // on the wire, from the header of IP on
};

/// A TCP segment of a trace. Its payload may not have been kept, so only its length is given.
struct traced_segment {
  segment s;
  std::uint32_t payload_bytes = 0;
};
/// Reads the segment, or the note, of a packet of which the end may be missing. False: it is
/// neither.
[[nodiscard]] bool parse_traced(const traced_packet& p, traced_segment& out);
[[nodiscard]] bool parse_traced(const traced_packet& p, pcap_note& out) noexcept;

/// Reads a pcap file, of either byte order, in microseconds or nanoseconds. Links: raw IP, Ethernet
/// (also with VLAN tags), the BSD loopback, and both kinds of Linux "any".
///
/// Thread: one.
/// Owns: nothing; the file's bytes must stay.
/// Fails: trouble() says what and where. Packets before that are good.
class pcap_reader {
 public:
  explicit pcap_reader(std::span<const std::byte> file);
  /// Reads the next packet of IP. False: there is no more, or trouble().
  [[nodiscard]] bool next(traced_packet& out);
  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }
  /// Packets that were no IP.
  [[nodiscard]] std::size_t passed_over() const noexcept { return passed_over_; }

 private:
  [[nodiscard]] std::uint32_t number(std::size_t at) const noexcept;

  std::span<const std::byte> file_;
  std::size_t at_ = pcap_file_head_bytes;
  std::uint32_t link_ = 0;
  bool swapped_ = false;
  bool nanoseconds_ = false;
  std::size_t passed_over_ = 0;
  std::string trouble_;
};

}  // namespace heddle::tcp

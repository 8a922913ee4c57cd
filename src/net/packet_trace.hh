// SPDX-License-Identifier: MIT
// The trace of a device's packets: a pcap file with the beginning of each packet and the notes of
// the stack. Bytes are collected and written in large pieces.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/tcp/pcap.hh"

namespace heddle::net::detail {

/// Thread: one.
/// Owns: the file. Collected packets are written by the first turn after a second, and at the end.
/// Fails: the constructor throws failure. A later failure to write ends the trace.
class packet_trace {
 public:
  packet_trace(const std::string& path, std::uint64_t bytes_max);
  packet_trace(const packet_trace&) = delete;
  packet_trace& operator=(const packet_trace&) = delete;
  ~packet_trace();

  /// Sets the time of the packets that are sent from now on.
  void at(tcp::instant now) noexcept;
  void received(tcp::instant now, std::span<const std::byte> packet) noexcept;
  void sent(const tcp::outgoing& p) noexcept;
  /// A watcher of stacks, which adds their notes.
  static void note(void* trace, const tcp::connection_info& i, tcp::instant now);

 private:
  /// Makes room for a packet's first bytes after its head; null if the trace has ended.
  [[nodiscard]] std::byte* add(std::size_t kept, std::size_t length) noexcept;
  void write_out() noexcept;

  int fd_;
  std::uint64_t left_;
  tcp::instant now_ = 0;
  tcp::instant written_at_ = 0;
  tcp::instant offset_ = 0;  // from the stack's time to that of the calendar
  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;
};

}  // namespace heddle::net::detail

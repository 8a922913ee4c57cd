// SPDX-License-Identifier: MIT
// Writing pcap files: a header of 24 bytes, then 16 bytes before each packet. Numbers are written
// in network order, which the magic number tells readers. Notes are packets of IP.
#include "heddle/tcp/pcap.hh"

#include <algorithm>
#include <cstring>

namespace heddle::tcp {

namespace {

constexpr std::uint32_t pcap_magic = 0xa1b2c3d4;
constexpr std::uint32_t pcap_raw_ip = 101;
constexpr std::uint32_t note_magic = 0x6864746c;  // "hdtl"
constexpr std::size_t note_bytes = 40;

}  // namespace

void write_pcap_head(std::span<std::byte, pcap_file_head_bytes> out) noexcept {
  put32(out.data(), pcap_magic);
  put32(out.data() + 4, 2 << 16 | 4);  // version 2.4
  put32(out.data() + 8, 0);            // time zone
  put32(out.data() + 12, 0);           // accuracy
  put32(out.data() + 16, 65535);       // longest packet
  put32(out.data() + 20, pcap_raw_ip);
}

void write_pcap_packet_head(std::span<std::byte, pcap_packet_head_bytes> out, instant at,
                            std::size_t kept, std::size_t length) noexcept {
  put32(out.data(), static_cast<std::uint32_t>(at / 1'000'000));
  put32(out.data() + 4, static_cast<std::uint32_t>(at % 1'000'000));
  put32(out.data() + 8, static_cast<std::uint32_t>(kept));
  put32(out.data() + 12, static_cast<std::uint32_t>(length));
}

pcap_trace::pcap_trace(std::size_t bytes_max) : bytes_max_(bytes_max) {
  bytes_.resize(pcap_file_head_bytes);
  write_pcap_head(std::span<std::byte, pcap_file_head_bytes>(bytes_));
}

void pcap_trace::add(instant at, std::span<const std::byte> packet) {
  if (bytes_.size() + pcap_packet_head_bytes + packet.size() > bytes_max_) {
    ++left_out_;
    return;
  }
  ++packets_;
  std::byte head[pcap_packet_head_bytes];
  write_pcap_packet_head(head, at, packet.size(), packet.size());
  bytes_.insert(bytes_.end(), head, head + sizeof head);
  bytes_.insert(bytes_.end(), packet.begin(), packet.end());
}

void pcap_trace::watch(void* trace, instant at, std::size_t, std::span<const std::byte> packet,
                       fate what) {
  if (what == fate::sent) static_cast<pcap_trace*>(trace)->add(at, packet);
}

void pcap_trace::note(void* trace, const connection_info& i, instant at) {
  std::byte bytes[note_bytes_max];
  const std::size_t n = write_note(note_of(i), bytes);
  static_cast<pcap_trace*>(trace)->add(at, {bytes, n});
}

pcap_note note_of(const connection_info& i) noexcept {
  pcap_note n;
  n.between = i.between;
  n.now = i.now;
  n.recovering = i.recovering;
  n.window_bytes = i.window_bytes;
  n.threshold_bytes = i.threshold_bytes;
  n.in_flight_bytes = i.in_flight_bytes;
  n.peer_window_bytes = i.peer_window_bytes;
  n.round_trip_us = i.round_trip_us;
  n.timeout_us = i.timeout_us;
  return n;
}

std::size_t write_note(const pcap_note& n, std::span<std::byte, note_bytes_max> out) noexcept {
  const bool v4 = n.between.local.address.is_v4();
  const std::size_t ip = v4 ? 20 : 40;
  std::byte* const p = out.data();
  std::memset(p, 0, note_bytes_max);
  const std::byte* const from =
      reinterpret_cast<const std::byte*>(n.between.local.address.bytes.data());
  const std::byte* const to =
      reinterpret_cast<const std::byte*>(n.between.remote.address.bytes.data());
  if (v4) {
    p[0] = std::byte{0x45};
    put16(p + 2, ip + note_bytes);
    p[8] = std::byte{64};
    p[9] = std::byte{protocol_note};
    std::memcpy(p + 12, from + 12, 4);
    std::memcpy(p + 16, to + 12, 4);
    checksum head;
    head.add({p, 20});
    put16(p + 10, head.value());
  } else {
    p[0] = std::byte{0x60};
    put16(p + 4, note_bytes);
    p[6] = std::byte{protocol_note};
    p[7] = std::byte{64};
    std::memcpy(p + 8, from, 16);
    std::memcpy(p + 24, to, 16);
  }
  std::byte* const b = p + ip;
  put32(b, note_magic);
  b[4] = std::byte{1};  // version
  b[5] = static_cast<std::byte>(n.now);
  b[6] = static_cast<std::byte>(n.recovering ? 1 : 0);
  put16(b + 8, n.between.local.port);
  put16(b + 10, n.between.remote.port);
  put32(b + 12, n.window_bytes);
  put32(b + 16, n.threshold_bytes);
  put32(b + 20, n.in_flight_bytes);
  put32(b + 24, n.peer_window_bytes);
  put32(b + 28, n.round_trip_us);
  put32(b + 32, n.timeout_us);
  return ip + note_bytes;
}

bool parse_note(const ip_head& ip, pcap_note& out) noexcept {
  const std::byte* const b = ip.body.data();
  if (ip.protocol != protocol_note || ip.body.size() < note_bytes || get32(b) != note_magic ||
      b[4] != std::byte{1} || std::to_integer<std::size_t>(b[5]) >= state_count)
    return false;
  out.between = {{ip.source, get16(b + 8)}, {ip.destination, get16(b + 10)}};
  out.now = static_cast<state>(b[5]);
  out.recovering = b[6] != std::byte{0};
  out.window_bytes = get32(b + 12);
  out.threshold_bytes = get32(b + 16);
  out.in_flight_bytes = get32(b + 20);
  out.peer_window_bytes = get32(b + 24);
  out.round_trip_us = get32(b + 28);
  out.timeout_us = get32(b + 32);
  return true;
}

}  // namespace heddle::tcp

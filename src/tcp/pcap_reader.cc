// SPDX-License-Identifier: MIT
// Reading pcap files. The format: https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html;
// the links: the LINKTYPE values of libpcap.
#include <algorithm>
#include <array>
#include <cstring>

#include "heddle/tcp/pcap.hh"

namespace heddle::tcp {

namespace {

constexpr std::uint32_t microseconds = 0xa1b2c3d4, nanoseconds = 0xa1b23c4d;
constexpr std::uint32_t next_generation = 0x0a0d0d0a;
constexpr std::uint32_t packet_bytes_max = 1 << 20;  // a longer one is a sign of a broken file

enum link : std::uint32_t {
  link_null = 0,
  link_ethernet = 1,
  link_raw_openbsd = 14,
  link_raw_other = 12,
  link_raw = 101,
  link_loop = 108,
  link_linux_any = 113,
  link_v4 = 228,
  link_v6 = 229,
  link_linux_any_2 = 276,
};

bool is_ip(std::uint32_t ethertype) noexcept { return ethertype == 0x0800 || ethertype == 0x86dd; }

/// Bytes before the header of IP; SIZE_MAX: it is no packet of IP.
std::size_t before_ip(std::uint32_t link, std::span<const std::byte> p) noexcept {
  constexpr std::size_t none = SIZE_MAX;
  std::size_t at = 0;
  switch (link) {
    case link_raw:
    case link_raw_other:
    case link_raw_openbsd:
    case link_v4:
    case link_v6:
      break;
    case link_null:
    case link_loop:
      at = 4;
      break;
    case link_linux_any:
      if (p.size() < 16 || !is_ip(get16(p.data() + 14))) return none;
      at = 16;
      break;
    case link_linux_any_2:
      if (p.size() < 20 || !is_ip(get16(p.data()))) return none;
      at = 20;
      break;
    default:  // Ethernet
      at = 12;
      while (p.size() >= at + 4 &&
             (get16(p.data() + at) == 0x8100 || get16(p.data() + at) == 0x88a8))
        at += 4;
      if (p.size() < at + 2 || !is_ip(get16(p.data() + at))) return none;
      at += 2;
  }
  if (p.size() <= at) return none;
  const unsigned version = std::to_integer<unsigned>(p[at]) >> 4;
  return version == 4 || version == 6 ? at : none;
}

bool is_known(std::uint32_t link) noexcept {
  for (const std::uint32_t known :
       {link_null, link_ethernet, link_raw_openbsd, link_raw_other, link_raw, link_loop,
        link_linux_any, link_v4, link_v6, link_linux_any_2})
    if (link == known) return true;
  return false;
}

}  // namespace

std::uint32_t pcap_reader::number(std::size_t at) const noexcept {
  const std::uint32_t n = get32(file_.data() + at);
  return swapped_ ? __builtin_bswap32(n) : n;
}

pcap_reader::pcap_reader(std::span<const std::byte> file) : file_(file) {
  if (file.size() < 4) {
    trouble_ = "it is no pcap file: it has " + std::to_string(file.size()) + " bytes";
    return;
  }
  std::uint32_t magic = number(0);
  if (magic == __builtin_bswap32(microseconds) || magic == __builtin_bswap32(nanoseconds)) {
    swapped_ = true;
    magic = number(0);
  }
  nanoseconds_ = magic == nanoseconds;
  if (magic == next_generation) {
    trouble_ = "it is a pcapng file; tcpdump -r FILE -w OTHER makes a pcap file of it";
  } else if (magic != microseconds && magic != nanoseconds) {
    trouble_ = "it is no pcap file: its first four bytes are none of the format's";
  } else if (file.size() < pcap_file_head_bytes) {
    trouble_ = "it ends within its header of 24 bytes";
  } else {
    link_ = number(20) & 0xfffffff;  // the upper bits are flags
    if (!is_known(link_))
      trouble_ = "packets of link type " + std::to_string(link_) +
                 " are not read; capture on a device of IP or Ethernet";
  }
}

bool pcap_reader::next(traced_packet& out) {
  while (trouble_.empty() && at_ < file_.size()) {
    const auto where = [this] { return " at byte " + std::to_string(at_); };
    if (file_.size() - at_ < pcap_packet_head_bytes) {
      trouble_ = "the file ends within the header of a packet" + where();
      return false;
    }
    const std::uint32_t kept = number(at_ + 8), length = number(at_ + 12);
    if (kept > packet_bytes_max) {
      trouble_ =
          "a packet of " + std::to_string(kept) + " bytes" + where() + ": the file is broken";
      return false;
    }
    if (file_.size() - at_ - pcap_packet_head_bytes < kept) {
      trouble_ = "the file ends within a packet" + where();
      return false;
    }
    const std::uint32_t part = number(at_ + 4);
    out.at = instant{number(at_)} * 1'000'000 + (nanoseconds_ ? part / 1000 : part);
    const std::span<const std::byte> whole = file_.subspan(at_ + pcap_packet_head_bytes, kept);
    at_ += pcap_packet_head_bytes + kept;
    const std::size_t skip = before_ip(link_, whole);
    if (skip == SIZE_MAX) {
      ++passed_over_;
      continue;
    }
    out.bytes = whole.subspan(skip);
    out.length = length > skip ? length - skip : out.bytes.size();
    return true;
  }
  return false;
}

bool parse_traced(const traced_packet& p, traced_segment& out) {
  if (p.bytes.size() < 20) return false;
  // The header with its length as if the packet ended where the trace does.
  std::array<std::byte, 256> kept;
  std::size_t n = std::min(p.bytes.size(), kept.size());
  std::memcpy(kept.data(), p.bytes.data(), n);
  const bool v4 = (std::to_integer<unsigned>(kept[0]) >> 4) == 4;
  if (!v4 && n < 40) return false;
  std::size_t whole = v4 ? get16(kept.data() + 2) : get16(kept.data() + 4) + std::size_t{40};
  if (whole == 0) whole = p.length;  // a joined packet as a device takes it
  n = std::min(n, whole);
  if (n < (v4 ? 20u : 40u)) return false;
  put16(kept.data() + (v4 ? 2 : 4), static_cast<std::uint32_t>(v4 ? n : n - 40));
  ip_head ip;
  if (parse_ip({kept.data(), n}, ip, true) != drop::none || ip.protocol != protocol_tcp ||
      parse_segment(ip, out.s, true) != drop::none)
    return false;
  out.payload_bytes = static_cast<std::uint32_t>(out.s.payload.size() + whole - n);
  out.s.payload = {};
  return true;
}

bool parse_traced(const traced_packet& p, pcap_note& out) noexcept {
  ip_head ip;
  return parse_ip(p.bytes, ip, true) == drop::none && parse_note(ip, out);
}

}  // namespace heddle::tcp

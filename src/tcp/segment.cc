// SPDX-License-Identifier: MIT
// Headers of TCP with the options that the stack knows: read and written.
#include "heddle/tcp/segment.hh"

#include <cstring>

namespace heddle::tcp {

namespace {

enum kind : std::uint8_t {
  kind_end = 0,
  kind_nothing = 1,
  kind_mss = 2,
  kind_window_scale = 3,
  kind_sack_permitted = 4,
  kind_sack = 5,
  kind_timestamps = 8,
};

/// Reads the options. An option of a wrong length is skipped; one without end makes the segment
/// unusable.
bool parse_options(std::span<const std::byte> options, segment& out) noexcept {
  while (!options.empty()) {
    const auto what = std::to_integer<std::uint8_t>(options[0]);
    if (what == kind_end) return true;
    if (what == kind_nothing) {
      options = options.subspan(1);
      continue;
    }
    if (options.size() < 2) return false;
    const auto length = std::to_integer<std::size_t>(options[1]);
    if (length < 2 || length > options.size()) return false;
    const std::byte* body = options.data() + 2;
    switch (what) {
      case kind_mss:
        if (length == 4 && out.has(flag_syn)) out.mss = get16(body);
        break;
      case kind_window_scale:
        if (length == 3 && out.has(flag_syn)) {
          const auto shift = std::to_integer<std::uint8_t>(body[0]);
          out.window_scale = static_cast<std::int8_t>(shift > 14 ? 14 : shift);
        }
        break;
      case kind_sack_permitted:
        if (length == 2 && out.has(flag_syn)) out.sack_permitted = true;
        break;
      case kind_sack:
        if (length >= 10 && (length - 2) % 8 == 0 && !out.has(flag_syn)) {
          std::size_t count = (length - 2) / 8;
          if (count > sack_blocks_max) count = sack_blocks_max;
          for (std::size_t i = 0; i < count; ++i)
            out.sacks[i] = {get32(body + 8 * i), get32(body + 8 * i + 4)};
          out.sack_count = static_cast<std::uint8_t>(count);
        }
        break;
      case kind_timestamps:
        if (length == 10) {
          out.has_timestamps = true;
          out.ts_value = get32(body);
          out.ts_echo = get32(body + 4);
        }
        break;
      default:
        break;
    }
    options = options.subspan(length);
  }
  return true;
}

class option_writer {
 public:
  explicit option_writer(std::byte* at) noexcept : begin_(at), at_(at) {}
  void put(std::initializer_list<std::uint8_t> bytes) noexcept {
    for (std::uint8_t b : bytes) *at_++ = static_cast<std::byte>(b);
  }
  void number(std::uint32_t value) noexcept {
    put32(at_, value);
    at_ += 4;
  }
  std::size_t finish() noexcept {
    while ((at_ - begin_) % 4 != 0) *at_++ = std::byte{kind_nothing};
    return static_cast<std::size_t>(at_ - begin_);
  }

 private:
  std::byte* begin_;
  std::byte* at_;
};

std::size_t write_options(const segment& s, std::byte* out) noexcept {
  option_writer w(out);
  if (s.mss != 0)
    w.put({kind_mss, 4, static_cast<std::uint8_t>(s.mss >> 8),
           static_cast<std::uint8_t>(s.mss & 0xff)});
  if (s.window_scale >= 0)
    w.put({kind_nothing, kind_window_scale, 3, static_cast<std::uint8_t>(s.window_scale)});
  if (s.has_timestamps) {
    if (s.sack_permitted) {
      w.put({kind_sack_permitted, 2});
    } else {
      w.put({kind_nothing, kind_nothing});
    }
    w.put({kind_timestamps, 10});
    w.number(s.ts_value);
    w.number(s.ts_echo);
  } else if (s.sack_permitted) {
    w.put({kind_nothing, kind_nothing, kind_sack_permitted, 2});
  }
  if (s.sack_count != 0) {
    w.put({kind_nothing, kind_nothing, kind_sack, static_cast<std::uint8_t>(2 + 8 * s.sack_count)});
    for (std::size_t i = 0; i < s.sack_count; ++i) {
      w.number(s.sacks[i].begin);
      w.number(s.sacks[i].end);
    }
  }
  return w.finish();
}

}  // namespace

drop parse_segment(const ip_head& ip, segment& out, bool sums_verified) noexcept {
  const std::span<const std::byte> p = ip.body;
  if (p.size() < 20) return drop::truncated;
  const std::size_t header = (std::to_integer<std::size_t>(p[12]) >> 4) * 4;
  if (header < 20 || header > p.size()) return drop::tcp_header;
  if (!sums_verified) {
    checksum sum;
    sum.add_pseudo(ip.source, ip.destination, protocol_tcp, static_cast<std::uint32_t>(p.size()));
    sum.add(p);
    if (sum.value() != 0) return drop::tcp_checksum;
  }
  out.source = {ip.source, get16(p.data())};
  out.destination = {ip.destination, get16(p.data() + 2)};
  if (out.source.port == 0 || out.destination.port == 0) return drop::tcp_ports;
  out.seq = get32(p.data() + 4);
  out.ack = get32(p.data() + 8);
  out.flags = std::to_integer<std::uint8_t>(p[13]);
  out.window = get16(p.data() + 14);
  if (out.has(flag_syn) && out.has(flag_rst | flag_fin)) return drop::tcp_flags;
  out.has_timestamps = false;
  out.sack_permitted = false;
  out.window_scale = -1;
  out.sack_count = 0;
  out.mss = 0;
  if (header > 20 && !parse_options(p.subspan(20, header - 20), out)) return drop::tcp_options;
  out.payload = p.subspan(header);
  return drop::none;
}

std::size_t option_bytes(const segment& s) noexcept {
  std::size_t bytes = 0;
  if (s.mss != 0) bytes += 4;
  if (s.window_scale >= 0) bytes += 4;
  if (s.has_timestamps) {
    bytes += 12;
  } else if (s.sack_permitted) {
    bytes += 4;
  }
  if (s.sack_count != 0) bytes += 4 + 8 * std::size_t{s.sack_count};
  return bytes;
}

std::size_t write_ip_head(const ip_head& head, std::size_t bytes, std::byte* out) noexcept {
  constexpr std::uint8_t hops = 64;
  if (!head.source.is_v4()) {
    std::memset(out, 0, 8);
    out[0] = std::byte{0x60};
    put16(out + 4, static_cast<std::uint32_t>(bytes));
    out[6] = std::byte{head.protocol};
    out[7] = std::byte{hops};
    std::memcpy(out + 8, head.source.bytes.data(), 16);
    std::memcpy(out + 24, head.destination.bytes.data(), 16);
    return 40;
  }
  std::memset(out, 0, 20);
  out[0] = std::byte{0x45};
  put16(out + 2, static_cast<std::uint32_t>(20 + bytes));
  put16(out + 6, 0x4000);  // don't fragment; so the identification may be 0 (RFC 6864)
  out[8] = std::byte{hops};
  out[9] = std::byte{head.protocol};
  std::memcpy(out + 12, head.source.bytes.data() + 12, 4);
  std::memcpy(out + 16, head.destination.bytes.data() + 12, 4);
  checksum sum;
  sum.add({out, 20});
  put16(out + 10, sum.value());
  return 20;
}

std::size_t write_headers(const segment& s, std::span<const std::span<const std::byte>> payload,
                          std::span<std::byte, header_bytes_max> out,
                          bool partial_checksum) noexcept {
  const std::size_t ip = s.source.address.is_v4() ? 20 : 40;
  std::byte* const t = out.data() + ip;
  const std::size_t header = 20 + write_options(s, t + 20);
  std::size_t bytes = header;
  for (const auto& piece : payload) bytes += piece.size();
  put16(t, s.source.port);
  put16(t + 2, s.destination.port);
  put32(t + 4, s.seq);
  put32(t + 8, s.ack);
  t[12] = static_cast<std::byte>(header / 4 << 4);
  t[13] = static_cast<std::byte>(s.flags);
  put16(t + 14, s.window);
  put32(t + 16, 0);  // checksum and urgent pointer
  checksum sum;
  sum.add_pseudo(s.source.address, s.destination.address, protocol_tcp,
                 static_cast<std::uint32_t>(bytes));
  if (partial_checksum) {
    put16(t + 16, sum.partial());
  } else {
    sum.add({t, header});
    for (const auto& piece : payload) sum.add(piece);
    put16(t + 16, sum.value());
  }
  write_ip_head({s.source.address, s.destination.address, protocol_tcp, {}}, bytes, out.data());
  return ip + header;
}

}  // namespace heddle::tcp

// SPDX-License-Identifier: MIT
// ICMP (RFC 792, 1191) and ICMPv6 (RFC 4443, 8201). Echo requests are answered, at a bounded rate.
// Errors are about segments that we sent. Anyone can send them, so each must quote a segment in
// flight (RFC 5927), and none ends an open connection.
#include <cstring>

#include "tcp/core.hh"

namespace heddle::tcp {

namespace {

enum class icmp_news : std::uint8_t { none, unreachable, too_big };

struct icmp_error {
  icmp_news what = icmp_news::none;
  std::uint32_t mtu = 0;
  flow between;
  sequence seq = 0;
  std::uint32_t quoted_bytes = 0;  // size of the packet that was too big
};

/// Reads the start of our own packet, which the error quotes: whole headers of IP and at least the
/// ports and the sequence number.
bool parse_quote(std::span<const std::byte> q, bool v4, icmp_error& out) noexcept {
  std::size_t header = 40;
  if (v4) {
    if (q.size() < 20 || std::to_integer<unsigned>(q[0]) >> 4 != 4) return false;
    header = (std::to_integer<std::size_t>(q[0]) & 15) * 4;
    if (header < 20 || q.size() < header + 8 || q[9] != std::byte{protocol_tcp}) return false;
    out.quoted_bytes = get16(q.data() + 2);
    out.between.local.address = out.between.remote.address = ip_address::v4(0, 0, 0, 0);
    std::memcpy(out.between.local.address.bytes.data() + 12, q.data() + 12, 4);
    std::memcpy(out.between.remote.address.bytes.data() + 12, q.data() + 16, 4);
  } else {
    if (q.size() < 48 || std::to_integer<unsigned>(q[0]) >> 4 != 6) return false;
    if (q[6] != std::byte{protocol_tcp}) return false;
    out.quoted_bytes = 40u + get16(q.data() + 4);
    std::memcpy(out.between.local.address.bytes.data(), q.data() + 8, 16);
    std::memcpy(out.between.remote.address.bytes.data(), q.data() + 24, 16);
  }
  out.between.local.port = get16(q.data() + header);
  out.between.remote.port = get16(q.data() + header + 2);
  out.seq = get32(q.data() + header + 4);
  return true;
}

void read_v4(std::span<const std::byte> p, icmp_error& out) noexcept {
  if (p[0] != std::byte{3}) return;
  switch (std::to_integer<unsigned>(p[1])) {
    case 2:  // protocol
    case 3:  // port
    case 10:
    case 13:  // prohibited
      out.what = icmp_news::unreachable;
      break;
    case 4:
      out.what = icmp_news::too_big;
      out.mtu = get16(p.data() + 6);
      break;
    default:  // routes come and go
      break;
  }
}

void read_v6(std::span<const std::byte> p, icmp_error& out) noexcept {
  const auto type = std::to_integer<unsigned>(p[0]), code = std::to_integer<unsigned>(p[1]);
  if (type == 1 && (code == 1 || code == 4)) out.what = icmp_news::unreachable;
  if (type == 2) {
    out.what = icmp_news::too_big;
    out.mtu = get32(p.data() + 4);
  }
}

/// The likely MTU of an old router that names none (RFC 1191 section 7).
std::uint32_t plateau_below(std::uint32_t bytes) noexcept {
  for (std::uint32_t size : {32000u, 17914u, 8166u, 4352u, 2002u, 1492u, 1006u})
    if (size < bytes) return size;
  return 576;
}

void narrow(core& k, conn x, const icmp_error& e) {
  pcb& c = x.c;
  const bool v4 = c.remote.is_v4();
  std::uint32_t mtu = e.mtu;
  if (mtu == 0) mtu = plateau_below(e.quoted_bytes);
  // An honest MTU is less than the quoted packet. The floor of 576 or 1280 keeps a forger from
  // asking for segments that are all header.
  if (mtu >= e.quoted_bytes) return;
  mtu = std::max<std::uint32_t>(mtu, v4 ? 576 : 1280);
  const std::uint32_t mss = mtu - (v4 ? 40 : 60);
  if (mss >= c.mss) return;
  c.mss = static_cast<std::uint16_t>(mss);
  ++k.count.mtu_changes;
  if (c.traffic == no_index) return;
  traffic& t = k.traffics[c.traffic];
  const std::uint32_t full = full_segment(k, c);
  for (std::size_t i = 0; i < t.records.size(); ++i)
    if (t.records[i].bytes() > full + (t.records[i].fin ? 1 : 0)) mark_lost(t, t.records[i]);
  mark_dirty(k, x);
}

constexpr std::size_t echo_head_bytes = 8;

[[nodiscard]] bool is_echo_request(std::span<const std::byte> p, bool v4) noexcept {
  return p[0] == (v4 ? std::byte{8} : std::byte{128}) && p[1] == std::byte{0};
}

/// Sends the request's bytes back (RFC 1122 section 3.2.2.6, RFC 4443 section 4.2).
void answer_echo(core& k, const ip_head& ip) noexcept {
  const instant second = k.now / 1'000'000;
  if (second != k.echo_second) {
    k.echo_second = second;
    k.echoes = 0;
  }
  const bool v4 = ip.source.is_v4();
  const std::size_t head_bytes = v4 ? 20 : 40;
  if (k.echoes >= k.opt.echoes_max || head_bytes + ip.body.size() > k.opt.mtu) {
    dropped(k, drop::icmp_unrelated);
    return;
  }
  ++k.echoes;
  std::array<std::byte, 40 + echo_head_bytes> head{};
  write_ip_head({ip.destination, ip.source, ip.protocol, {}}, ip.body.size(), head.data());
  std::byte* const echo = head.data() + head_bytes;
  std::memcpy(echo, ip.body.data(), echo_head_bytes);
  echo[0] = v4 ? std::byte{0} : std::byte{129};
  put16(echo + 2, 0);
  const std::span<const std::byte> data = ip.body.subspan(echo_head_bytes);
  checksum sum;
  if (!v4)
    sum.add_pseudo(ip.destination, ip.source, protocol_icmp6,
                   static_cast<std::uint32_t>(ip.body.size()));
  sum.add({echo, echo_head_bytes});
  sum.add(data);
  put16(echo + 2, sum.value());
  ++k.count.packets_out;
  ++k.count.echoes_sent;
  k.net.transmit({{head.data(), head_bytes + echo_head_bytes},
                  {&data, 1},
                  static_cast<std::uint32_t>(data.size())});
}

}  // namespace

void on_icmp(core& k, const ip_head& ip, bool sums_verified) noexcept {
  const std::span<const std::byte> p = ip.body;
  const bool v4 = ip.source.is_v4();
  if (p.size() < 8 || v4 != (ip.protocol == protocol_icmp)) {
    dropped(k, drop::icmp_malformed);
    return;
  }
  if (!sums_verified) {
    checksum sum;
    if (!v4)
      sum.add_pseudo(ip.source, ip.destination, protocol_icmp6,
                     static_cast<std::uint32_t>(p.size()));
    sum.add(p);
    if (sum.value() != 0) {
      dropped(k, drop::icmp_malformed);
      return;
    }
  }
  if (is_echo_request(p, v4)) {
    answer_echo(k, ip);
    return;
  }
  icmp_error e;
  if (v4) {
    read_v4(p, e);
  } else {
    read_v6(p, e);
  }
  if (e.what == icmp_news::none) {
    dropped(k, drop::icmp_unrelated);
    return;
  }
  if (!parse_quote(p.subspan(8), v4, e)) {
    dropped(k, drop::icmp_malformed);
    return;
  }
  const int local = local_number(k, e.between.local.address);
  const std::uint32_t index = local < 0 ? no_index
                                        : k.table.find(k.pcbs, k.table.hash(e.between),
                                                       static_cast<std::uint8_t>(local), e.between);
  if (index == no_index) {
    dropped(k, drop::icmp_unrelated);
    return;
  }
  conn x(k, index);
  if (before(e.seq, x.c.snd_una) || !before(e.seq, x.c.snd_nxt)) {
    dropped(k, drop::icmp_unrelated);
    return;
  }
  if (e.what == icmp_news::too_big) {
    narrow(k, x, e);
  } else if (x.c.now == state::syn_sent) {
    end(k, x, ending::unreachable);
  }
}

}  // namespace heddle::tcp

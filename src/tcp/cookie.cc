// SPDX-License-Identifier: MIT
// SYN cookies (RFC 4987 section 3.6): the answer to a SYN carries in its sequence number all that
// is needed to open the connection when the ACK comes, so that a SYN takes no memory. Sequence
// number: 2 bits of time, 3 of the peer's MSS, 10 of a keyed hash, and 17 of the peer's sequence
// number plus that hash. So a segment that overtook the ACK is known as one of a connection that is
// not open yet: its sequence number is wrong by less than 2^17 (the window of a SYN,ACK is less
// than that). It is dropped, where a reset would end the connection. The timestamp's lowest 6 bits
// hold window scale (4; 15: none) and SACK (1); without timestamps neither is used.
#include "tcp/core.hh"

namespace heddle::tcp {

namespace {

constexpr std::array<std::uint16_t, 8> cookie_sizes = {64, 536, 1220, 1340, 1360, 1420, 1440, 1460};

std::uint32_t cookie_epoch(const core& k) noexcept {
  return static_cast<std::uint32_t>(k.now >> 26);  // 67 s
}

constexpr std::uint32_t place_mask = 0x1ffff;     // the peer's sequence number plus hash bits
constexpr std::uint32_t flow_mask = 0x3ff << 17;  // hash bits of connection, epoch and MSS

std::uint32_t cookie_hash(const core& k, const flow& f, sequence peer, std::uint32_t epoch,
                          std::uint32_t size) noexcept {
  const siphash_key key{k.opt.key[0] ^ 4, k.opt.key[1]};
  const std::uint64_t words[2] = {hash_flow<2, 4>(key, f), std::uint64_t{epoch} << 32 | size};
  const std::uint64_t hash = siphash<2, 4>(key, words);
  return (static_cast<std::uint32_t>(hash) & flow_mask) |
         ((static_cast<std::uint32_t>(hash >> 32) + peer) & place_mask);
}

}  // namespace

void send_cookie(core& k, const segment& syn) noexcept {
  const flow f = syn.at_receiver();
  const bool v4 = f.remote.address.is_v4();
  const std::uint32_t own = mss_of(k, v4);
  std::uint32_t size = 0;
  const std::uint32_t offered = syn.mss != 0 ? syn.mss : v4 ? 536 : 1220;
  while (size < 7 && cookie_sizes[size + 1] <= offered) ++size;
  const std::uint32_t epoch = cookie_epoch(k);

  segment s;
  s.source = syn.destination;
  s.destination = syn.source;
  s.flags = flag_syn | flag_ack;
  s.seq = (epoch & 3) << 30 | size << 27 | cookie_hash(k, f, syn.seq, epoch, size);
  s.ack = syn.seq + 1;
  s.window = static_cast<std::uint16_t>(first_window(k));
  s.mss = static_cast<std::uint16_t>(own);
  if (k.opt.timestamps && syn.has_timestamps) {
    const bool scale = k.opt.window_scale && syn.window_scale >= 0;
    const bool sack = k.opt.sack && syn.sack_permitted;
    const auto bits = static_cast<std::uint32_t>((scale ? syn.window_scale : 15) << 1 | sack);
    const std::uint32_t clock = timestamp_now(k);
    std::uint32_t value = (clock & ~63u) | bits;
    if (value > clock) value -= 64;  // never ahead of the clock
    s.has_timestamps = true;
    s.ts_value = value + timestamp_offset(k, f);
    s.ts_echo = syn.ts_value;
    s.sack_permitted = sack;
    if (scale) {
      std::uint8_t shift = 0;
      while (shift < 14 && k.opt.receive_window_bytes >> shift > 65535) ++shift;
      s.window_scale = static_cast<std::int8_t>(shift);
    }
  }
  ++k.count.cookies_sent;
  send(k, s, {}, 0);
}

cookie_sort check_cookie(const core& k, const segment& ack, cookie_offer& offer) noexcept {
  const sequence cookie = ack.ack - 1;
  const flow f = ack.at_receiver();
  const std::uint32_t size = cookie >> 27 & 7;
  const std::uint32_t now = cookie_epoch(k);
  const std::uint32_t age = (now - (cookie >> 30)) & 3;
  // Cookies of this epoch and of the last one are good: 67 to 134 seconds.
  if (age > 1 || age > now) return cookie_sort::none;
  const std::uint32_t wrong =
      cookie_hash(k, f, ack.seq - 1, now - age, size) ^ (cookie & (flow_mask | place_mask));
  if ((wrong & flow_mask) != 0) return cookie_sort::none;
  if (wrong != 0) return cookie_sort::early;
  offer.mss = cookie_sizes[size];
  if (k.opt.timestamps && ack.has_timestamps) {
    const std::uint32_t bits = ack.ts_echo & 63;
    offer.sack = (bits & 1) != 0;
    const std::uint32_t shift = bits >> 1 & 15;
    offer.has_scale = shift <= 14;
    offer.window_scale = static_cast<std::uint8_t>(offer.has_scale ? shift : 0);
  }
  return cookie_sort::good;
}

}  // namespace heddle::tcp

// SPDX-License-Identifier: MIT
// Packets of IP and TCP from any bytes: each parsed field lies inside the packet, and a packet that
// is built from the fields parses to the same. A stack survives the bytes as they are.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "heddle/tcp/stack.hh"

namespace {

using namespace heddle::tcp;

void demand(bool condition) {
  if (!condition) std::abort();
}

struct silent final : network, user, packet::home {
  void transmit(const outgoing&) noexcept override {}
  void accepted(connection, std::uint16_t) noexcept override {}
  void connected(connection) noexcept override {}
  void received(connection, std::span<const std::byte>, packet&) noexcept override {}
  void acknowledged(connection, std::uint32_t) noexcept override {}
  void finished(connection) noexcept override {}
  void ended(connection, std::uint64_t, ending) noexcept override {}
  void take_back(packet&) noexcept override { home = true; }
  bool home = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  ip_head ip;
  segment s;
  if (parse_ip(bytes, ip, true) == drop::none && ip.protocol == protocol_tcp &&
      parse_segment(ip, s, true) == drop::none) {
    demand(s.payload.data() >= bytes.data() &&
           s.payload.data() + s.payload.size() <= bytes.data() + bytes.size());
    if (option_bytes(s) <= 40) {
      std::byte header[header_bytes_max];
      const std::size_t n = write_headers(s, {&s.payload, 1}, header);
      std::vector<std::byte> again(header, header + n);
      again.insert(again.end(), s.payload.begin(), s.payload.end());
      ip_head ip2;
      segment t;
      demand(parse_ip(again, ip2) == drop::none && parse_segment(ip2, t) == drop::none);
      demand(t.source == s.source && t.destination == s.destination && t.seq == s.seq &&
             t.ack == s.ack && t.flags == s.flags && t.window == s.window && t.mss == s.mss &&
             t.window_scale == s.window_scale && t.sack_permitted == s.sack_permitted &&
             t.has_timestamps == s.has_timestamps && t.sack_count == s.sack_count &&
             t.payload.size() == s.payload.size());
    }
  }
  silent world;
  stack_options options;
  stack it(options, world, world);
  it.add_address(ip_address::v4(10, 0, 0, 1));
  it.listen(80);
  packet p(bytes, world);
  p.sums_verified = true;
  it.input(p, 1'000'000);
  it.flush(1'000'000);
  p.release();
  demand(world.home);
  return 0;
}

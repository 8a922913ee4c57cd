// SPDX-License-Identifier: MIT
// Packet traces from any bytes: each packet lies inside the file, what is parsed of it is
// consistent, a reader ends, and a note that is read is written to the same bytes again.
#include <cstdlib>
#include <cstring>

#include "heddle/tcp/pcap.hh"

namespace {

using namespace heddle::tcp;

void demand(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  pcap_reader in(file);
  traced_packet p;
  std::size_t packets = 0;
  while (in.next(p)) {
    ++packets;
    demand(!p.bytes.empty() && p.bytes.data() >= file.data() &&
           p.bytes.data() + p.bytes.size() <= file.data() + file.size());
    traced_segment s;
    if (parse_traced(p, s)) demand(s.s.payload.empty() && s.s.sack_count <= sack_blocks_max);
    pcap_note n;
    if (parse_traced(p, n)) {
      std::byte again[note_bytes_max];
      const std::size_t bytes = write_note(n, again);
      pcap_note same;
      ip_head ip;
      demand(parse_ip({again, bytes}, ip) == drop::none && parse_note(ip, same) && same == n);
    }
  }
  demand(packets * pcap_packet_head_bytes <= size);
  demand(!in.next(p));
  return 0;
}

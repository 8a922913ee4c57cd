// SPDX-License-Identifier: MIT
// The PROXY protocol, versions 1 and 2 (HAProxy's "The PROXY protocol", 2020/03/05): a header in
// front of a connection's first byte, in which a load balancer tells the address of its client.
//
//   version 1   "PROXY TCP4 192.0.2.7 198.51.100.1 51734 443\r\n", at most 107 bytes
//   version 2   12 bytes of signature; version and command; family; 2 bytes of length (big endian);
//               addresses and ports; fields of a type, a length and a value (TLV)
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/io/address.hh"
#include "heddle/io/listener.hh"
#include "heddle/io/network.hh"

namespace heddle::http {

/// A header that was parsed. Both addresses are none if it tells none: version 1's UNKNOWN, version
/// 2's LOCAL (a health check of the balancer itself), and families other than TCP over IP.
struct proxy_header {
  int version = 0;
  address client = {};
  address server = {};   ///< the one that the client connected to
  std::size_t size = 0;  ///< bytes of the header; the connection's own follow
};

enum class proxy_header_state : std::uint8_t { need_more, done, failed };

/// Parses the beginning of a connection. `need_more` means that all of these bytes may be the
/// beginning of a header; give them again with more behind. `bytes_max` limits version 2, whose
/// length may be 65,551. A checksum (CRC32c, PP2_TYPE_CRC32C) is verified if it is there.
/// Thread: any. Fails: never throws; `failed` says that this is no header.
[[nodiscard]] proxy_header_state parse_proxy_header(std::string_view bytes, proxy_header& found,
                                                    std::size_t bytes_max = 4096);

/// The header that tells of these two ends. LOCAL or UNKNOWN if one is none.
[[nodiscard]] std::string proxy_header_text(int version, const address& client,
                                            const address& server);

struct proxy_protocol_options {
  /// Peers that must send a header. Connections of all others are taken as they are: their own
  /// address counts.
  std::vector<network> trusted = {};
  nanoseconds timeout = std::chrono::seconds(5);  ///< for the whole header
  std::size_t header_bytes_max = 4096;
};

/// A listener whose connections' peer() is the address that their header tells, once it has been
/// read, which happens with the first read. Put it below TLS.
/// Fails: reading fails with bad_message if a trusted peer sends no header, timed_out if it is
/// late.
[[nodiscard]] listener listen_for_proxies(listener over, proxy_protocol_options options);

}  // namespace heddle::http

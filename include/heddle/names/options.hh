// SPDX-License-Identifier: MIT
// Options of a resolver: where answers come from, and every limit. The defaults follow the
// machine's files (resolv.conf(5), hosts(5), nsswitch.conf(5)).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/io/address.hh"

namespace heddle::names {

/// Whether this build can ask name servers itself (it has c-ares).
[[nodiscard]] bool asks_servers() noexcept;

/// Where the answers to questions come from.
enum class answers : std::uint8_t {
  /// From name servers, if this build has c-ares, there is a server, and nsswitch.conf names no
  /// source but `files`, `dns` and `resolve`. Otherwise as `system`.
  automatic,
  servers,  ///< from name servers; without one, look-ups fail with errc::no_server
  system,   ///< from resolve(): the C library in the blocking pool; the names of a simulation
};

/// Paths are read by the driver, so a simulation has files of its own. Empty: the file is not read.
struct resolver_files {
  std::string hosts = "/etc/hosts";
  std::string resolv_conf = "/etc/resolv.conf";
  std::string nsswitch = "/etc/nsswitch.conf";
  nanoseconds every = std::chrono::seconds(5);  ///< looks for changes at most this often
  std::uint32_t bytes_max = 4 * 1024 * 1024;    ///< a larger file fails the look-ups
};

/// How long answers are used again. A time to live that the server gives is cut to these limits,
/// never lengthened.
struct resolver_cache {
  std::uint32_t entries_max = 1024;                    ///< the least recently used go first
  nanoseconds ttl_max = std::chrono::hours(1);         ///< limit for addresses
  nanoseconds negative_max = std::chrono::minutes(1);  ///< limit for "no such name" (RFC 2308)
  nanoseconds failure = std::chrono::seconds(1);       ///< after a failure: no server had an answer
  nanoseconds system = std::chrono::seconds(5);  ///< time for answers::system, which gives none
};

struct resolver_options {
  answers from = answers::automatic;
  /// Servers in the order in which they are asked. Empty: those of resolv.conf, which is not read
  /// otherwise. Port 0 means 53.
  std::vector<address> servers = {};
  bool rotate = false;                                  ///< starts with the next server each time
  std::optional<std::vector<std::string>> search = {};  ///< empty: as resolv.conf says, else none
  std::optional<std::uint32_t> ndots = {};              ///< empty: as resolv.conf says, else 1
  std::optional<std::uint32_t> tries = {};  ///< tries of each server; as resolv.conf says, else 2
  std::optional<nanoseconds> timeout = {};  ///< the first try's time; as resolv.conf says, else 2 s
  nanoseconds timeout_max = std::chrono::seconds(10);  ///< each round doubles the time, up to this
  nanoseconds whole = std::chrono::seconds(20);        ///< time of one question with all its tries
  nanoseconds server_backoff = std::chrono::seconds(10);  ///< how long a silent server comes last
  /// The wait for the other version's addresses after one version's came (RFC 8305 section 3).
  nanoseconds family_delay = std::chrono::milliseconds(50);
  bool tcp_only = false;               ///< asks over TCP from the start
  std::uint32_t udp_bytes = 1232;      ///< largest datagram asked for (EDNS, RFC 6891); 0: no EDNS
  std::uint32_t sockets_max = 256;     ///< sockets open at once; further questions wait
  std::uint32_t questions_max = 4096;  ///< questions at once; more fail with errc::too_many
  std::uint32_t addresses_max = 64;    ///< addresses of one answer; further ones are left out
  std::uint32_t aliases_max = 16;      ///< CNAMEs in a row; more are errc::bad_answer
  std::uint32_t mismatches_max = 32;   ///< datagrams that answer something else; then TCP
  std::uint32_t servers_max = 8;       ///< taken from resolv.conf
  std::uint32_t search_max = 16;       ///< domains taken from resolv.conf
  resolver_files files = {};
  resolver_cache cache = {};
};

}  // namespace heddle::names

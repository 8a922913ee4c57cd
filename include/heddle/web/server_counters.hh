// SPDX-License-Identifier: MIT
// The counters of a server. Each limit in its options has a counter of how often it was reached.
#pragma once

#include <cstdint>

#include "heddle/probe/histogram.hh"

namespace heddle::http {

/// Counters of one server. All but `open` and `overloaded` only grow.
struct server_counters {
  std::uint64_t connections = 0;
  std::uint64_t open = 0;
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;  ///< sent, heads included
  /// Answers of 500 and above without shed requests; connections that broke during an answer.
  std::uint64_t errors = 0;
  std::uint64_t bad_heads = 0;
  std::uint64_t uris_too_long = 0;
  std::uint64_t heads_too_large = 0;
  std::uint64_t bodies_too_large = 0;
  std::uint64_t bad_bodies = 0;
  std::uint64_t bodies_abandoned = 0;
  std::uint64_t idle_timeouts = 0;
  std::uint64_t header_timeouts = 0;
  std::uint64_t body_timeouts = 0;
  std::uint64_t write_timeouts = 0;
  std::uint64_t full_waits = 0;
  std::uint64_t refused_connections = 0;
  std::uint64_t accept_pauses = 0;  ///< accepting paused because descriptors or memory ran out
  std::uint64_t pipeline_pauses = 0;
  std::uint64_t block_copies = 0;
  std::uint64_t file_parts_short = 0;
  std::uint64_t shed = 0;          ///< requests refused because they had waited too long
  std::uint64_t overloads = 0;     ///< how many times shedding began
  std::uint64_t overloaded = 0;    ///< 1 while requests are shed
  std::uint64_t accept_holds = 0;  ///< accepting paused because of overload
  histogram queue_delay_ns;        ///< how long requests waited before they began or were shed
  histogram latency_ns;  ///< from a parsed head to an answer ready to be sent; shed ones excluded

  /// Adds the counters of another server.
  server_counters& operator+=(const server_counters& other) noexcept;
};

}  // namespace heddle::http

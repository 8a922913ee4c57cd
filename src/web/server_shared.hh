// SPDX-License-Identifier: MIT
// The data that all connections of a server share: options, counters, and memory that one answer
// passes on to the next. Connections of every kind get a reference to it.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "heddle/core/deadline.hh"
#include "heddle/http/detail/spare_buffers.hh"
#include "heddle/http/parser.hh"
#include "heddle/probe/callee.hh"
#include "heddle/sync/peer_counts.hh"
#include "heddle/web/server_counters.hh"
#include "heddle/web/server_options.hh"
#include "web/answer_opening.hh"
#include "web/load_shedding.hh"
#include "web/packed_lines.hh"

namespace heddle::http {

/// Thread: the server's color.
struct server_shared {
  server_shared(handler h, server_options o, site given);
  ~server_shared();
  /// Reports that a handler ended with the exception in flight. `handler` may be null.
  void report_failure(const char* of, const callee* handler) const;
  server_shared(const server_shared&) = delete;

  /// Goes from serving to stopping and never back.
  enum class phase : std::uint8_t { serving, ending_kept, stopping };

  handler answer;
  const callee answers;  // names it in reports
  bool timed = false;    // handlers are timed for slow-handler
  const server_options options;
  server_counters counters;
  limits head_bounds;  // the limits of the parsers
  phase now = phase::serving;
  /// Shared with WebSockets, because a program may let one outlive the server.
  const std::shared_ptr<cancel_source> draining_kept = std::make_shared<cancel_source>();
  cancel_source& draining = *draining_kept;  // ends accepting and endless answers
  peer_counts peers;                         // open connections of each address
  std::size_t blocks_held = 0;               // blocks of the driver held by requests in progress
  std::size_t blocks_max = 0;                // the maximum of blocks_held
  std::size_t file_bytes_held = 0;
  load_shedding shedding;
  /// For gathered answers: a burst of requests passes its buffer to the next one. At most twice the
  /// output of HTTP/2 each, and enough for one turn under load.
  detail::spare_buffers<64, 320 * 1024, 768 * 1024> spares;
  answer_opening opening;
  packed_lines packed;   // for HTTP/2
  known_authority host;  // the last one requested
};

}  // namespace heddle::http

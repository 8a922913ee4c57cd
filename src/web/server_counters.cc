// SPDX-License-Identifier: MIT
// Adds up the counters of several servers.
#include "heddle/web/server_counters.hh"

namespace heddle::http {

server_counters& server_counters::operator+=(const server_counters& other) noexcept {
  using member = std::uint64_t server_counters::*;
  using counters = server_counters;
  for (const member each : {&counters::connections,
                            &counters::open,
                            &counters::requests,
                            &counters::bytes,
                            &counters::errors,
                            &counters::bad_heads,
                            &counters::uris_too_long,
                            &counters::heads_too_large,
                            &counters::bodies_too_large,
                            &counters::bad_bodies,
                            &counters::bodies_abandoned,
                            &counters::idle_timeouts,
                            &counters::header_timeouts,
                            &counters::body_timeouts,
                            &counters::write_timeouts,
                            &counters::full_waits,
                            &counters::refused_connections,
                            &counters::accept_pauses,
                            &counters::pipeline_pauses,
                            &counters::block_copies,
                            &counters::file_parts_short,
                            &counters::shed,
                            &counters::overloads,
                            &counters::overloaded,
                            &counters::accept_holds})
    this->*each += other.*each;
  queue_delay_ns.merge(other.queue_delay_ns);
  latency_ns.merge(other.latency_ns);
  return *this;
}
static_assert(sizeof(server_counters) == 25 * sizeof(std::uint64_t) + 2 * sizeof(histogram),
              "a new counter is added up too");

}  // namespace heddle::http

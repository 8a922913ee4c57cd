// SPDX-License-Identifier: MIT
// A server's beginning and end, where all that it owns is known.
#include "web/server_shared.hh"

#include "web/handed_over.hh"

namespace heddle::http {

server_shared::server_shared(handler h, server_options o)
    : answer(std::move(h)),
      options(std::move(o)),
      head_bounds(options.bounds),
      shedding(options.overload, counters),
      ready(options.ready_bytes_max),
      opening(options.server_name) {
  head_bounds.body_bytes_max = ~std::uint64_t{0};  // a route decides when the handler reads
}

server_shared::~server_shared() = default;

}  // namespace heddle::http

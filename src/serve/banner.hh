// SPDX-License-Identifier: MIT
// The messages of `heddle serve` at its begin and end: its addresses, the served directory, the
// driver, and a summary of its work.
#pragma once

#include <string>

#include "heddle/core/task.hh"
#include "heddle/web/server.hh"
#include "serve/options.hh"

namespace heddle::serve {

/// Several lines for people. The server really listens at `at`.
[[nodiscard]] task<std::string> banner(const serve_options& o, address at, address http_at);

/// One line: requests, bytes, times, errors, and the shed requests if there were any.
[[nodiscard]] std::string farewell(const http::server_counters& c);

/// Writes a number of bytes for people: 1240 as "1.2 kB".
[[nodiscard]] std::string readable_bytes(std::uint64_t bytes);

}  // namespace heddle::serve

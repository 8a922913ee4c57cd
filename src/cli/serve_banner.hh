// SPDX-License-Identifier: MIT
// What `heddle serve` says when it begins and when it has ended: where it can be reached, from
// where, what it runs on, and what was done.
#pragma once

#include <string>

#include "cli/serve_options.hh"
#include "heddle/http/server.hh"

namespace heddle::cli {

/// Several lines, for stderr. `at` is where it really listens.
[[nodiscard]] std::string banner(const serve_options& o, const address& at);

/// One line: requests, bytes, times, errors, and what was shed if anything was.
[[nodiscard]] std::string farewell(const http::server_counters& c);

/// 1240 -> "1.2 kB".
[[nodiscard]] std::string readable_bytes(std::uint64_t bytes);

}  // namespace heddle::cli

// SPDX-License-Identifier: MIT
// The name servers and the order in which they are asked: each in turn, several rounds, a silent
// one last.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "heddle/core/task.hh"
#include "heddle/names/counters.hh"
#include "heddle/names/options.hh"
#include "heddle/sync/semaphore.hh"
#include "names/cache.hh"
#include "names/message.hh"

namespace heddle::names::detail {

struct server {
  address at;
  bool edns = true;                              ///< false: the server does not understand EDNS
  time_point backoff_until = time_point::min();  ///< a silent server is asked last until then
};

/// Thread: one color. Questions keep the set that they began with.
struct server_set {
  std::vector<server> all;
  std::uint32_t tries = 2;
  nanoseconds timeout = std::chrono::seconds(2);
  bool rotate = false;
  bool tcp_only = false;
  std::size_t next = 0;  ///< with rotate: where the next question starts
};

/// Asks until a server has an answer or all tries are used up. The answer has its time to live.
/// Cancel: the socket is closed. Fails: only by cancellation and std::bad_alloc.
[[nodiscard]] task<answer> ask_servers(std::shared_ptr<server_set> servers, std::string name,
                                       record_type type, const resolver_options& options,
                                       semaphore& sockets, resolver_counters& counters);

}  // namespace heddle::names::detail

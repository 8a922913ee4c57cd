// SPDX-License-Identifier: MIT
// Counts of a resolver's work.
#pragma once

#include <cstdint>

namespace heddle::names {

struct resolver_counters {
  std::uint64_t lookups = 0;
  std::uint64_t hits = 0;        ///< questions answered from the cache
  std::uint64_t joined = 0;      ///< questions that waited for an equal one
  std::uint64_t questions = 0;   ///< questions put to servers, or to the system
  std::uint64_t tries = 0;       ///< one server asked once
  std::uint64_t over_tcp = 0;    ///< tries over TCP, most after a truncated answer
  std::uint64_t mismatches = 0;  ///< datagrams that did not answer the question, dropped
};

}  // namespace heddle::names

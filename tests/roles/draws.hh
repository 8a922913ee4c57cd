// SPDX-License-Identifier: MIT
// What a seed draws: numbers, sizes, pauses, and which kinds of step a run has. Each seed turns a
// random half of the kinds off ("swarm testing", Groce et al. 2012): a run with few kinds repeats
// each of them often, and finds what a run with all kinds hides.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

#include "heddle/base/clock.hh"
#include "support/draws.hh"

namespace heddle::test::roles {

class draws : public test::draws {
 public:
  using test::draws::draws;
  /// A size of at most `most` bytes: mostly small, sometimes none, seldom large.
  [[nodiscard]] std::size_t size(std::size_t most) noexcept {
    const std::uint64_t bounds[] = {10, 300, 5'000, 60'000};
    const std::uint64_t bound = bounds[below(4)];
    return below(bound < most ? bound : most);
  }
  /// A time of at most `longest`, of any order of magnitude.
  [[nodiscard]] nanoseconds pause(nanoseconds longest) noexcept {
    const std::uint64_t parts[] = {3000, 150, 10, 1};
    return nanoseconds(below(static_cast<std::uint64_t>(longest.count()) / parts[below(4)] + 1));
  }
};

/// The kinds of step and of trouble that a seed can turn off.
enum class step : unsigned {
  // Requests.
  uploads,         // bodies of requests
  made_uploads,    // bodies that a function makes, with and without a length
  failed_uploads,  // such a function ends with an exception
  heads,           // HEAD
  empty_statuses,  // 204 and 304
  repeats,         // several visits with one client, connections used again
  go_aheads,       // Expect: 100-continue
  pipelines,       // several requests on a connection before the first answer
  old_versions,    // HTTP/1.0
  last_requests,   // Connection: close
  upgrades,        // Upgrade to another protocol
  // Answers.
  made_answers,  // bodies that the handler writes in parts
  trailers,
  echoes,           // the answer is made while the request's body arrives
  early_answers,    // the answer comes before the request's body has been read
  interims,         // 103
  failed_handlers,  // an exception becomes the answer
  cut_answers,      // the handler ends before its answer is whole
  closing_answers,  // the server closes the connection behind the answer
  // Clients.
  partial_reads,    // the client reads parts, with pauses
  dropped_answers,  // the client destroys an answer that it has not read whole
  given_up,         // the client's own time limit ends a request
  pauses,           // of the client and of the handler
  // The world.
  short_transfers,
  delays,  // operations that begin late
  resets,
  slow_links,
  short_limits,  // time limits of the server and of the client that are often reached
  restarts,      // the server drains or ends, and another one begins at its address
  count,
};

class kinds {
 public:
  explicit kinds(draws& from) {
    for (std::size_t i = 0; i < on_.size(); ++i) on_[i] = from.one_of(2);
  }
  [[nodiscard]] bool has(step s) const noexcept { return on_[static_cast<std::size_t>(s)]; }
  void leave_out(step s) noexcept { on_[static_cast<std::size_t>(s)] = false; }

 private:
  std::bitset<static_cast<std::size_t>(step::count)> on_;
};

}  // namespace heddle::test::roles

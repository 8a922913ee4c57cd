// SPDX-License-Identifier: MIT
// Micro-protocols: each does one thing, binds its handlers when it is made, and knows no other. A
// transport is a list of their names.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace player {

class endpoint;

/// Something with handlers on an endpoint's bus; it lives as long as the endpoint.
class micro_protocol {
 public:
  micro_protocol() = default;
  micro_protocol(const micro_protocol&) = delete;
  micro_protocol& operator=(const micro_protocol&) = delete;
  virtual ~micro_protocol() = default;
};
using part = std::unique_ptr<micro_protocol>;

// Without these nothing arrives.
[[nodiscard]] part make_fragmentation(endpoint& e);
[[nodiscard]] part make_sequencing(endpoint& e);
[[nodiscard]] part make_transmission(endpoint& e);
[[nodiscard]] part make_reassembly(endpoint& e);
[[nodiscard]] part make_playout(endpoint& e);

// These are chosen by name.
[[nodiscard]] part make_parity(endpoint& e);
[[nodiscard]] part make_flow_control(endpoint& e);
[[nodiscard]] part make_acknowledgement(endpoint& e);
[[nodiscard]] part make_round_trip(endpoint& e);
[[nodiscard]] part make_guard(endpoint& e);
[[nodiscard]] part make_adaptation(endpoint& e);

// The two users of the transport.
[[nodiscard]] part make_source(endpoint& e, std::span<const std::byte> file);
[[nodiscard]] part make_display(endpoint& e);

/// The micro-protocols of a transport, in the order in which they are made. `names` is a list with
/// commas; fails with std::invalid_argument when one is unknown, or needs another that is missing.
[[nodiscard]] std::vector<part> compose(endpoint& e, const std::string& names);

}  // namespace player

// SPDX-License-Identifier: MIT
// Serving a reader from blocks that have arrived: the common part of sockets and layers.
#pragma once

#include "heddle/io/received.hh"
#include "heddle/io/transfer.hh"

namespace heddle::detail {

/// Gives an entry of the read lane what `blocks` has: empty(), front() -> byte_view, lend() ->
/// received (and the block is gone), drop(n) for its first n bytes. False when it needs more.
template <class Blocks>
[[nodiscard]] bool serve_reader(const Blocks& blocks, lane_entry& e) noexcept {
  if (e.role == lane_role::transfer && static_cast<transfer_awaiter&>(e).satisfied()) return true;
  while (!blocks.empty()) {
    if (e.role == lane_role::readable) {
      e.outcome = 1;
      return true;
    }
    if (e.role == lane_role::receive) {
      static_cast<receive_awaiter&>(e).give(blocks.lend());
      e.outcome = 0;
      return true;
    }
    auto& reader = static_cast<transfer_awaiter&>(e);
    const byte_view first = blocks.front();
    const std::size_t taken = reader.take(first);
    blocks.drop(taken);
    if (taken < first.size() || reader.satisfied()) return true;
  }
  return false;
}

}  // namespace heddle::detail

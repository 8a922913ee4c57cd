// SPDX-License-Identifier: MIT
// An operation on a descriptor before it begins: the descriptor and the request's arguments.
// Cheap to move, so adapters take it as it is; co_await makes the record that waits, once, in the
// frame where it stays. Part of every operation's type; users name none of this.
//
//   auto op = with_timeout(conn.read(buffer), 5s);   // nothing has begun yet
//   auto n = co_await op;
#pragma once

#include <utility>

#include "heddle/io/detail/lane.hh"

namespace heddle::detail {

/// An operation that is asked for by its descriptor alone.
struct nothing_more {};

/// Owns: a pin, so the descriptor may be closed in between; the operation then fails.
template <class Awaiter, class Asked = nothing_more>
class [[nodiscard("co_await it")]] descriptor_call {
 public:
  explicit descriptor_call(descriptor_state* on, Asked asked = {})
      : on_(on), asked_(std::move(asked)) {}
  descriptor_call(descriptor_call&&) = default;

  /// Makes the awaiter, once: a second call fails with bad_file_descriptor.
  [[nodiscard]] Awaiter operator co_await() { return Awaiter(std::move(on_), std::move(asked_)); }

 private:
  pinned_state on_;
  [[no_unique_address]] Asked asked_;
};

}  // namespace heddle::detail

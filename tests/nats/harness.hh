// SPDX-License-Identifier: MIT
// Connections to a small cluster, for the body of a test.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "heddle/nats/connection.hh"
#include "nats/small_server.hh"

namespace heddle::test {

/// Runs a connection beside the body of a test.
template <class Body>
task<> with_connection(nats::connection_options options, Body body) {
  nats::connection c(std::move(options));
  const auto all = [&](scope& s) -> task<> {
    s.spawn(c.run());
    co_await body(c);
    s.cancel();
  };
  co_await with_scope(all);
}

/// The error of an awaitable that must fail.
template <class A>
task<std::error_code> error_of(A awaitable) {
  const auto got = co_await as_expected(std::move(awaitable));
  co_return got ? std::error_code() : got.error();
}

}  // namespace heddle::test

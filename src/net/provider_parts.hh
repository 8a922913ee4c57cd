// SPDX-License-Identifier: MIT
// Making providers of a host, and the parts that they are made of.
#pragma once

#include "heddle/net/provider.hh"
#include "net/host.hh"

namespace heddle::net::detail {

struct provider_parts {
  [[nodiscard]] static provider of(std::shared_ptr<host> h, pump& p) noexcept {
    provider made;
    made.host_ = std::move(h);
    made.pump_ = &p;
    return made;
  }
};

/// A key for a stack, from the driver's source of randomness.
[[nodiscard]] std::array<std::uint64_t, 2> random_key();

}  // namespace heddle::net::detail

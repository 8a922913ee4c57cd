// SPDX-License-Identifier: MIT
// The address of a client behind proxies, as X-Forwarded-For or Forwarded (RFC 7239) tell it.
// Anyone may write these fields, so only those that trusted proxies have written count.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "heddle/http/request.hh"
#include "heddle/io/address.hh"
#include "heddle/io/network.hh"

namespace heddle::http {

/// The field to believe. A proxy passes the other one on as the client wrote it.
enum class forwarded_field : std::uint8_t { x_forwarded_for, forwarded };

/// Follows the field from its end, where the nearest proxy wrote, as long as the address reached is
/// that of a trusted proxy. Gives the first one that is not; `peer` if that is no trusted proxy
/// itself or there is no field. An element that is no address ("unknown", "_hidden") ends the walk
/// at the proxy that wrote it. The port is 0 where the field does not tell it.
/// Thread: any. Fails: never.
[[nodiscard]] address client_address(const request_head& head, const address& peer,
                                     std::span<const network> trusted, forwarded_field field);

}  // namespace heddle::http

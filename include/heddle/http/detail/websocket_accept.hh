// SPDX-License-Identifier: MIT
// The answer to the key of a WebSocket's handshake (RFC 6455 section 4.2.2), for both ends of it
// and for what translates between HTTP/2, which has no key, and HTTP/1.1.
#pragma once

#include <string>
#include <string_view>

#include "heddle/http/base64.hh"
#include "heddle/http/detail/sha1.hh"

namespace heddle::http {

inline constexpr std::size_t websocket_key_bytes = 16;  ///< before base64

/// The value of Sec-WebSocket-Accept for this Sec-WebSocket-Key.
[[nodiscard]] inline std::string websocket_accept_of(std::string_view key) {
  return to_base64(sha1(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
}

}  // namespace heddle::http

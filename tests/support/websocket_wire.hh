// SPDX-License-Identifier: MIT
// WebSocket frames as they are on the wire.
#pragma once

#include <string>

#include "heddle/http/detail/websocket_frames.hh"

namespace heddle::test {

/// A frame as a client or a server sends it.
inline std::string wire(unsigned first, std::string payload, bool masked = true) {
  const bool last = (first & 0x80) != 0;
  http::websocket_head h =
      http::make_websocket_head(static_cast<http::websocket_opcode>(first & 15), last, false,
                                payload.size(), masked, 0x04030201);
  h.bytes[0] = static_cast<char>(first);
  if (masked) http::mask_websocket(payload.data(), payload.size(), 0x04030201, 0);
  return std::string(h.text()) + payload;
}

}  // namespace heddle::test

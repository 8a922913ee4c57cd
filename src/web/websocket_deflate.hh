// SPDX-License-Identifier: MIT
// permessage-deflate (RFC 7692) by zlib: the negotiation, and one message packed or unpacked. No
// context is kept from one message to the next, so a connection that waits holds nothing of it:
// each thread has one pair of states.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/http/detail/websocket_frames.hh"

namespace heddle::http {

/// The offer that a client sends.
inline constexpr std::string_view websocket_deflate_offer =
    "permessage-deflate; server_no_context_takeover; client_no_context_takeover";

/// The window, in bits, that a server may use by the first offer it can agree to; 0 if there is
/// none, or without zlib.
[[nodiscard]] std::uint8_t choose_websocket_deflate(std::string_view offers);
/// The server's answer to that offer.
[[nodiscard]] std::string websocket_deflate_answer(std::uint8_t window_bits);
/// The window, in bits, that a client may use by this answer to websocket_deflate_offer; 0 if the
/// answer is not one to it.
[[nodiscard]] std::uint8_t read_websocket_deflate_answer(std::string_view answer);

/// Packs a message. Gives nothing if the message would not become smaller.
[[nodiscard]] std::optional<std::string> deflate_websocket(std::string_view message,
                                                           std::uint8_t window_bits);

/// Unpacks a message; see inflate_message.
[[nodiscard]] inflate_outcome inflate_websocket(std::string& message, std::uint64_t bytes_max);

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// The parts of a WebSocket's handshake that clients and proxies share: the key of HTTP/1.1 (RFC
// 6455 section 4.1), the fields of a request over HTTP/2 (RFC 8441 section 5), and the check of its
// answer.
//
// For the parts of the library that ask for a WebSocket; not for programs: it may change in any
// version.
#pragma once

#include <string>

#include "heddle/http/response_parser.hh"
#include "heddle/web/websocket.hh"

namespace heddle::http {

/// A value for Sec-WebSocket-Key: 16 random bytes, in base64.
[[nodiscard]] std::string new_websocket_key();

/// The fields of a handshake but for Host and those of HTTP/1.1 alone, each as "Name: value\r\n".
/// Fails: invalid_argument for an option with a character that must not be sent.
[[nodiscard]] std::string websocket_request_lines(const websocket_options& options);

/// Makes the client's end of a WebSocket on a stream that a server has opened with this answer.
/// Fails: bad_message if the answer agrees on something that was not asked for.
[[nodiscard]] websocket websocket_on(stream connection, const response_head& answer,
                                     const websocket_options& options);

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// How the end of a message's body is found in HTTP/1 (RFC 9112 section 6).
#pragma once

#include <cstdint>

namespace heddle::http {

enum class framing : std::uint8_t {
  none,         ///< there is no body
  length,       ///< Content-Length
  chunked,      ///< Transfer-Encoding: chunked
  until_close,  ///< the end of the connection; answers only
};

}  // namespace heddle::http

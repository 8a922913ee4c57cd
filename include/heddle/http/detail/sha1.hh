// SPDX-License-Identifier: MIT
// SHA-1 (FIPS 180-4, section 6.1). WebSocket's handshake names it (RFC 6455 section 4.2.2) to show
// that the server understood the request; nothing secret depends on it. The library of TLS has one
// too, but WebSocket works without that.
#pragma once

#include <string>
#include <string_view>

namespace heddle::http {

/// The digest of the bytes: 20 bytes.
[[nodiscard]] std::string sha1(std::string_view bytes);

}  // namespace heddle::http

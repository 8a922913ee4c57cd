// SPDX-License-Identifier: MIT
// Base64 with padding (RFC 4648 section 4), for credentials and handshakes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heddle::http {

[[nodiscard]] std::string to_base64(std::string_view bytes);
/// Decodes a text. Gives nothing if the text is not the one spelling of some bytes: padding is
/// needed, and spare bits must be zero.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace heddle::http

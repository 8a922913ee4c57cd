// SPDX-License-Identifier: MIT
// Facts about a certificate: its names, the span in which it is valid, and its name at an
// authority's renewal information (RFC 9773 section 4.1).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/tls/authority.hh"

namespace heddle::acme::detail {

/// Seconds since 1970.
struct certificate_facts {
  std::vector<std::string> names;
  std::int64_t not_before = 0;
  std::int64_t not_after = 0;
  std::string renewal_id;  // empty if the certificate names no key of its authority
};

/// Reads a whole chain, and checks that the key is that of its first certificate. `where` names the
/// chain in messages.
/// Fails: bad_message or invalid_argument; the text names the part that is wrong, with its line.
[[nodiscard]] certificate_facts facts_of(const tls::pem_pair& pair,
                                         const std::string& where = "the certificate");

/// A moment of RFC 3339, "2026-11-25T14:30:00Z", in seconds since 1970; fractions are cut off.
/// Fails: bad_message.
[[nodiscard]] std::int64_t moment_of(std::string_view text);

/// Joins key and chain to one text, and splits such a text.
[[nodiscard]] std::string joined(const tls::pem_pair& pair);
[[nodiscard]] tls::pem_pair split(const std::string& text);

}  // namespace heddle::acme::detail

// SPDX-License-Identifier: MIT
// Signed messages (RFC 7515): the account's key, which signs with ECDSA on P-256 and SHA-256
// (ES256), digests, and the spelling of bytes that they use.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::acme::detail {

/// Base64 with the alphabet for URLs and without padding (RFC 4648 section 5).
[[nodiscard]] std::string to_base64url(std::string_view bytes);
[[nodiscard]] std::optional<std::string> from_base64url(std::string_view text);
/// Bytes of PEM text without its armor, as such base64. Fails: bad_message if the text is no PEM.
[[nodiscard]] std::string der_of(std::string_view pem);

/// The SHA-256 digest, of 32 bytes.
[[nodiscard]] std::string sha256(std::string_view bytes);
[[nodiscard]] std::string hmac_sha256(std::string_view key, std::string_view bytes);

/// Thread: any; it does not change. Owns: the key.
class account_key {
 public:
  /// A new key.
  [[nodiscard]] static account_key make();
  /// Reads a key in PEM. Fails: invalid_argument if the text holds no key on P-256.
  [[nodiscard]] static account_key parse(std::string_view pem);

  [[nodiscard]] std::string pem() const;
  /// The public key as JSON, in the form whose digest is the thumbprint (RFC 7638 section 3).
  [[nodiscard]] const std::string& jwk() const noexcept { return jwk_; }
  [[nodiscard]] std::string thumbprint() const { return to_base64url(sha256(jwk_)); }
  /// Signs the bytes. The signature has 64 bytes: r, then s (RFC 7518 section 3.4).
  [[nodiscard]] std::string sign(std::string_view bytes) const;

 private:
  struct held;
  explicit account_key(std::shared_ptr<const held> key);

  std::shared_ptr<const held> key_;
  std::string jwk_;
};

/// A flattened JWS. `header` is the protected header as JSON; an empty payload stays empty, as a
/// POST-as-GET wants it.
[[nodiscard]] std::string signed_message(const account_key& by, std::string_view header,
                                         std::string_view payload);
/// The binding of a new account to one that the authority knows from elsewhere (RFC 8555 section
/// 7.3.4). `key` is its bytes.
[[nodiscard]] std::string account_binding(std::string_view id, std::string_view key,
                                          std::string_view url, const account_key& account);

}  // namespace heddle::acme::detail

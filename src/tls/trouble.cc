// SPDX-License-Identifier: MIT
// The texts of OpenSSL's reasons, with advice for the frequent ones.
#include "tls/trouble.hh"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "heddle/base/error.hh"

namespace heddle::tls::detail {
namespace {

struct known_reason {
  int reason;
  std::errc code;
  const char* advice;
};

constexpr known_reason known_reasons[] = {
    {SSL_R_UNEXPECTED_EOF_WHILE_READING, std::errc::connection_aborted,
     "the connection ended without close_notify: what arrived may not be all"},
    {SSL_R_HTTP_REQUEST, std::errc::protocol_error,
     "the peer speaks plain HTTP: use https:// in its address"},
    {SSL_R_WRONG_VERSION_NUMBER, std::errc::protocol_error,
     "the peer does not speak TLS on this port"},
    {SSL_R_CERTIFICATE_VERIFY_FAILED, std::errc::permission_denied,
     "see the reason; a certificate of your own authority needs its file among the authorities"},
    {SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, std::errc::permission_denied,
     "the client must have a certificate: set client_options::certificate"},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA, std::errc::permission_denied,
     "the peer does not know the authority of this certificate: add it to the peer's roots"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, std::errc::permission_denied,
     "the peer refused this certificate: look at its names and dates"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, std::errc::permission_denied,
     "the peer refused this certificate: look at its names and dates"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, std::errc::permission_denied,
     "this certificate has expired: make or get a new one"},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, std::errc::permission_denied,
     "the server wants a certificate of the client: set client_options::certificate"},
    {SSL_R_UNSUPPORTED_PROTOCOL, std::errc::protocol_error,
     "the peer speaks only versions before TLS 1.2: update it"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, std::errc::protocol_error,
     "the peer wants another version of TLS: compare the oldest versions of both"},
    {SSL_R_NO_SHARED_CIPHER, std::errc::protocol_error,
     "the ends have no cipher in common that the certificate's key can sign for"},
    {SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL, std::errc::protocol_error,
     "the ends have no protocol in common: compare their lists for ALPN"},
    {SSL_R_NO_APPLICATION_PROTOCOL, std::errc::protocol_error,
     "the ends have no protocol in common: compare their lists for ALPN"},
};

const known_reason* find_reason(unsigned long error) noexcept {
  for (const known_reason& k : known_reasons)
    if (ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == k.reason) return &k;
  return nullptr;
}

trouble trouble_of(std::string_view what, unsigned long error) {
  trouble t{std::errc::protocol_error, std::string(what)};
  const char* const reason = ERR_reason_error_string(error);
  t.text += ": ";
  t.text += reason != nullptr ? reason : "unknown reason";
  if (ERR_GET_REASON(error) == ERR_R_MALLOC_FAILURE) t.code = std::errc::not_enough_memory;
  if (const known_reason* k = find_reason(error)) {
    t.code = k->code;
    (t.text += "; ") += k->advice;
    t.plain_http = k->reason == SSL_R_HTTP_REQUEST;
  }
  return t;
}

}  // namespace

void drop_errors() noexcept { ERR_clear_error(); }

trouble take_errors(std::string_view what) {
  const unsigned long error = ERR_peek_error();
  if (error == 0) return {std::errc::protocol_error, std::string(what)};
  trouble t = trouble_of(what, error);
  ERR_clear_error();
  return t;
}

trouble trouble_of_alert(std::string_view what, std::uint8_t number) {
  return trouble_of(what, ERR_PACK(ERR_LIB_SSL, 0, SSL_AD_REASON_OFFSET + number));
}

trouble trouble_of_cut(std::string_view what) {
  return trouble_of(what, ERR_PACK(ERR_LIB_SSL, 0, SSL_R_UNEXPECTED_EOF_WHILE_READING));
}

void throw_errors(const std::string& what, std::string_view advice) {
  trouble t = take_errors(what);
  if (!advice.empty()) (t.text += "; ") += advice;
  if (t.code == std::errc::protocol_error) t.code = std::errc::invalid_argument;
  throw_trouble(t);
}

void throw_trouble(const trouble& t) { throw failure(std::make_error_code(t.code), t.text); }

}  // namespace heddle::tls::detail

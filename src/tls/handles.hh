// SPDX-License-Identifier: MIT
// Owners of OpenSSL's objects.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

#include "heddle/base/detail/freed_by.hh"

namespace heddle::tls::detail {

struct free_openssl {
  void operator()(void* memory) const noexcept { OPENSSL_free(memory); }
};

using ssl_handle = std::unique_ptr<SSL, freed_by<&SSL_free>>;
using ctx_handle = std::unique_ptr<SSL_CTX, freed_by<&SSL_CTX_free>>;
using bio_handle = std::unique_ptr<BIO, freed_by<&BIO_free_all>>;
using x509_handle = std::unique_ptr<X509, freed_by<&X509_free>>;
using key_handle = std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>>;
using session_handle = std::unique_ptr<SSL_SESSION, freed_by<&SSL_SESSION_free>>;

}  // namespace heddle::tls::detail

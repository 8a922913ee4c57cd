// SPDX-License-Identifier: MIT
// Owners of OpenSSL's objects.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>

#include <memory>

#include "heddle/base/detail/freed_by.hh"

namespace heddle::acme::detail {

using bio_handle = std::unique_ptr<BIO, freed_by<&BIO_free_all>>;
using key_handle = std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>>;

}  // namespace heddle::acme::detail

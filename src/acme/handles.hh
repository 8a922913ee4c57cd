// SPDX-License-Identifier: MIT
// Owners of OpenSSL's objects. Room tls has the same for its own; it is not for other rooms.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>

#include <memory>

namespace heddle::acme::detail {

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};

using bio_handle = std::unique_ptr<BIO, freed_by<&BIO_free_all>>;
using key_handle = std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>>;

}  // namespace heddle::acme::detail

// SPDX-License-Identifier: MIT
// Owners of objects of C libraries.
//
//   using bio_handle = std::unique_ptr<BIO, freed_by<&BIO_free_all>>;
#pragma once

namespace heddle {

/// A deleter for std::unique_ptr that calls a function.
template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};

}  // namespace heddle

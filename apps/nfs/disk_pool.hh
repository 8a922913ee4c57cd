// SPDX-License-Identifier: MIT
// Calls in the pool that give an outcome.
#pragma once

#include "heddle/core/expected.hh"
#include "heddle/io/blocking.hh"
#include "volume.hh"

namespace nfs {

/// The outcome of a call in the pool; JUKEBOX if it was not made, because the pool's queue is full
/// or the caller was cancelled: the client tries again.
template <class T>
[[nodiscard]] outcome<T> in_pool_result(heddle::result<outcome<T>>&& r) {
  if (!r) return std::unexpected(nfsstat3::NFS3ERR_JUKEBOX);
  return std::move(*r);
}

}  // namespace nfs

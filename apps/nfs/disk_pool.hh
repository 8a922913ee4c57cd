// SPDX-License-Identifier: MIT
// disk_volume::in_pool: calls in the pool that give an outcome.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "disk_volume.hh"
#include "heddle/core/expected.hh"
#include "heddle/io/blocking.hh"

namespace nfs {

template <disk_volume::runs Runs, class Work>
heddle::task<std::invoke_result_t<Work&>> disk_volume::in_pool(Work& work) {
  using made = std::invoke_result_t<Work&>;
  for (bool again = Runs == runs::twice;; again = false) {
    heddle::result<made> r = co_await heddle::as_expected(heddle::blocking(std::ref(work)));
    made done = std::unexpected(nfsstat3::NFS3ERR_JUKEBOX);
    if (r) done = std::move(*r);
    if (done || done.error() != nfsstat3::NFS3ERR_JUKEBOX || !descriptors_are_short())
      co_return done;
    const bool closed = co_await make_room();
    if (!closed || !again) co_return done;
  }
}

}  // namespace nfs

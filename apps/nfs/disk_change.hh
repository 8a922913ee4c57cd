// SPDX-License-Identifier: MIT
// disk_volume::change_directory: the frame of all procedures that change the names of one
// directory.
#pragma once

#include <functional>

#include "disk_pool.hh"
#include "disk_volume.hh"
#include "names.hh"

namespace nfs {

/// Attributes of a directory right before a change and after it, as far as they are known. `work`
/// runs between, with the identity of the caller.
template <class T, class Work>
[[nodiscard]] outcome<T> change_between(int dir, const export_root& in, const identity& who,
                                        nfs3::wcc_data& seen, Work& work) {
  const outcome<file_stat> st = stat_of(dir);
  if (!st) return std::unexpected(st.error());
  seen.before = before_of(*st);
  seen.after = attributes_of(*st, in);
  if (!S_ISDIR(st->st_mode)) return std::unexpected(nfsstat3::NFS3ERR_NOTDIR);
  outcome<T> done = std::unexpected(nfsstat3::NFS3ERR_ACCES);
  {
    const acting_as caller(who);
    if (caller) done = work(dir);
  }
  if (const outcome<file_stat> now = stat_of(dir)) seen.after = attributes_of(*now, in);
  return done;
}

template <class T, class Work>
heddle::task<outcome<T>> disk_volume::change_directory(disk_object& dir, const identity& who,
                                                       nfs3::wcc_data& seen,
                                                       const std::string& name, Work& work) {
  // Callers have checked it; but a path here would lead out of the export.
  if (const nfsstat3 s = name_status(name); s != nfsstat3::NFS3_OK) co_return std::unexpected(s);
  heddle::mutex::hold turn = co_await dir.change.lock();
  change_mark mark(dir);
  const open_ptr fd = dir.fd_ptr();
  auto all = [&]() -> outcome<T> {
    return change_between<T>(fd->number(), dir.in(), who, seen, work);
  };
  outcome<T> done = co_await in_pool<runs::once>(all);
  if (!mark.end()) seen.before.reset();
  turn.release();
  if (done) {
    const outcome<void> stable = co_await change_made(dir);
    if (!stable) done = std::unexpected(stable.error());
  }
  co_return done;
}

}  // namespace nfs

// SPDX-License-Identifier: MIT
// RENAME and LINK: changes that concern two objects, which may belong to two colors. Directories
// are locked in the order of their handles, each in its own color, so that two renames cannot wait
// for each other.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "disk_change.hh"
#include "disk_volume.hh"
#include "heddle/core/enter.hh"

namespace nfs {

/// A rename under way. It lies in the frame of rename(), which outlives all that use it.
struct disk_volume::move_request {
  disk_object& from;
  open_ptr from_fd;
  const std::string& name;
  const handle& to_handle;
  const std::string& to_name;
  const identity& who;
  nfs3::wcc_data& from_seen;
  nfs3::wcc_data& to_seen;
  open_ptr to_fd = {};
  std::optional<handle> gone = {};  ///< the object whose last name was replaced
};

namespace {

/// The object of an entry that another one replaces, if this is its last name.
struct replaced_entry {
  std::optional<handle> its;
  std::uint64_t inode = 0;
};

replaced_entry entry_to_replace(int dir, const std::string& name, const export_root& in) {
  replaced_entry e;
  const open_fd fd(open_entry(dir, name, {.flags = O_PATH}), open_fd::use::path);
  if (fd.number() < 0) return e;
  const outcome<file_stat> st = stat_of(fd.number());
  if (!st || (!S_ISDIR(st->st_mode) && st->st_nlink > 1)) return e;
  e.inode = st->st_ino;
  if (outcome<handle> h = handle_of(fd.number(), in)) e.its = std::move(*h);
  return e;
}

}  // namespace

heddle::task<outcome<void>> disk_volume::move_entry(move_request& r) {
  const export_root& in = r.from.in();
  const int to = r.to_fd->number();
  auto rename_them = [&](int from) -> outcome<void> {
    replaced_entry old = entry_to_replace(to, r.to_name, in);
    if (::renameat(from, r.name.c_str(), to, r.to_name.c_str()) != 0) return last_failure();
    file_stat now{};
    if (old.its && (::fstatat(to, r.to_name.c_str(), &now, AT_SYMLINK_NOFOLLOW) != 0 ||
                    now.st_ino != old.inode))
      r.gone = std::move(old.its);
    return {};
  };
  auto all = [&]() -> outcome<void> {
    if (r.from_fd == r.to_fd) {
      const outcome<void> done = change_between<void>(to, in, r.who, r.from_seen, rename_them);
      r.to_seen = r.from_seen;
      return done;
    }
    const outcome<file_stat> before = stat_of(to);
    if (!before) return std::unexpected(before.error());
    r.to_seen.before = before_of(*before);
    r.to_seen.after = attributes_of(*before, in);
    if (!S_ISDIR(before->st_mode)) return std::unexpected(nfsstat3::NFS3ERR_NOTDIR);
    const outcome<void> done =
        change_between<void>(r.from_fd->number(), in, r.who, r.from_seen, rename_them);
    if (const outcome<file_stat> after = stat_of(to)) r.to_seen.after = attributes_of(*after, in);
    return done;
  };
  co_return co_await in_pool<runs::once>(all);
}

heddle::task<outcome<void>> disk_volume::lock_first(move_request& r) {
  co_await heddle::enter(r.from.home());
  const heddle::mutex::hold turn = co_await r.from.change.lock();
  change_mark mark(r.from);
  const outcome<void> done = co_await move_entry(r);
  if (!mark.end()) r.from_seen.before.reset();
  co_return done;
}

heddle::task<outcome<void>> disk_volume::lock_second(move_request& r, bool first_too) {
  co_await heddle::enter(color_of(parts_of(r.to_handle).hash));
  const outcome<std::shared_ptr<disk_object>> to = co_await open_object(r.to_handle);
  if (!to) co_return std::unexpected(to.error());
  disk_object& o = **to;
  const heddle::mutex::hold turn = co_await o.change.lock();
  change_mark mark(o);
  r.to_fd = o.fd_ptr();
  outcome<void> done;
  if (first_too) {
    done = co_await lock_first(r);
  } else {
    done = co_await move_entry(r);
  }
  if (!mark.end()) r.to_seen.before.reset();
  co_return done;
}

heddle::task<outcome<void>> disk_volume::change_made_at(const handle& dir) {
  co_await heddle::enter(color_of(parts_of(dir).hash));
  const outcome<std::shared_ptr<disk_object>> o = co_await open_object(dir);
  if (!o) co_return std::unexpected(o.error());
  co_return co_await change_made(**o);
}

heddle::task<outcome<void>> disk_volume::rename(object& from, const std::string& name,
                                                const handle& to, const std::string& to_name,
                                                const identity& who, nfs3::wcc_data& from_seen,
                                                nfs3::wcc_data& to_seen) {
  disk_object& o = disk_object::of(from);
  if (!locate(to)) co_return std::unexpected(nfsstat3::NFS3ERR_BADHANDLE);
  if (parts_of(to).export_number != o.in().number)
    co_return std::unexpected(nfsstat3::NFS3ERR_XDEV);
  for (const std::string* each : {&name, &to_name})
    if (const nfsstat3 s = name_status(*each); s != nfsstat3::NFS3_OK) co_return std::unexpected(s);
  move_request r{o, o.fd_ptr(), name, to, to_name, who, from_seen, to_seen};
  outcome<void> done;
  if (!(to == o.own()) && to.data < o.own().data) {
    done = co_await lock_second(r, true);
  } else {
    const heddle::mutex::hold turn = co_await o.change.lock();
    change_mark mark(o);
    if (to == o.own()) {
      r.to_fd = r.from_fd;
      done = co_await move_entry(r);
    } else {
      done = co_await lock_second(r, false);
    }
    if (!mark.end()) {
      from_seen.before.reset();
      if (to == o.own()) to_seen.before.reset();
    }
  }
  if (!done) co_return done;
  if (r.gone) co_await forget(std::move(*r.gone));
  if (!options_.sync_changes) co_return done;
  if (!(to == o.own())) done = co_await change_made_at(to);
  if (done) done = co_await change_made(o);
  co_return done;
}

heddle::task<outcome<void>> disk_volume::link(object& of, const handle& dir,
                                              const std::string& name, const identity& who,
                                              nfs3::wcc_data& dir_seen) {
  disk_object& o = disk_object::of(of);
  if (!locate(dir)) co_return std::unexpected(nfsstat3::NFS3ERR_BADHANDLE);
  if (parts_of(dir).export_number != o.in().number)
    co_return std::unexpected(nfsstat3::NFS3ERR_XDEV);
  const outcome<file_stat> st = co_await look(o);
  if (!st) co_return std::unexpected(st.error());
  if (S_ISDIR(st->st_mode)) co_return std::unexpected(nfsstat3::NFS3ERR_ISDIR);
  const change_mark mark(o);  // its ctime and number of links change
  const open_ptr fd = o.fd_ptr();
  co_return co_await link_in(fd, dir, name, who, dir_seen);
}

heddle::task<outcome<void>> disk_volume::link_in(const open_ptr& file, const handle& dir,
                                                 const std::string& name, const identity& who,
                                                 nfs3::wcc_data& dir_seen) {
  co_await heddle::enter(color_of(parts_of(dir).hash));
  const outcome<std::shared_ptr<disk_object>> to = co_await open_object(dir);
  if (!to) co_return std::unexpected(to.error());
  // With an empty path instead, linkat() would need a capability that the caller has not.
  const std::string path = "/proc/self/fd/" + std::to_string(file->number());
  auto work = [&](int fd) -> outcome<void> {
    if (::linkat(AT_FDCWD, path.c_str(), fd, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return last_failure();
    return {};
  };
  co_return co_await change_directory<void>(**to, who, dir_seen, name, work);
}

}  // namespace nfs

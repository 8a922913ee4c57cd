// SPDX-License-Identifier: MIT
// Making files, directories, links and nodes.
#include <fcntl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "disk_attributes.hh"
#include "disk_change.hh"
#include "disk_volume.hh"

namespace nfs {
namespace {

constexpr std::uint32_t file_mode = 0644;  // of a client that gives none
constexpr std::uint32_t directory_mode = 0755;

/// The verifier of an exclusive CREATE, as times: 31 bits each, which every file system keeps.
struct create_times {
  explicit create_times(const nfs3::createverf3& v) noexcept {
    std::uint32_t words[2];
    std::memcpy(words, v.data(), sizeof words);
    atime = {static_cast<time_t>(words[0] & 0x7fffffff), 0};
    mtime = {static_cast<time_t>(words[1] & 0x7fffffff), 0};
  }
  timespec atime;
  timespec mtime;
};

outcome<found> create_exclusive(int dir, const std::string& name, const nfs3::createverf3& v,
                                const export_root& in) {
  const create_times times(v);
  const open_fd fd(open_entry(dir, name, {.flags = O_CREAT | O_EXCL | O_WRONLY, .mode = 0600}),
                   open_fd::use::write);
  if (fd.number() >= 0) {
    const timespec both[2] = {times.atime, times.mtime};
    if (::futimens(fd.number(), both) != 0) return last_failure();
    return found_at(fd.number(), in);
  }
  if (errno != EEXIST) return last_failure();
  const open_fd there(open_entry(dir, name, {.flags = O_PATH}), open_fd::use::path);
  if (there.number() < 0) return last_failure();
  const outcome<file_stat> st = stat_of(there.number());
  if (st && S_ISREG(st->st_mode) && st->st_size == 0 && same_time(st->st_atim, times.atime) &&
      same_time(st->st_mtim, times.mtime))
    return found_at(there.number(), in);  // the same call, made again
  return std::unexpected(nfsstat3::NFS3ERR_EXIST);
}

/// A file that was there, for CREATE without a guard: only the size is set.
outcome<found> take_existing(int dir, const std::string& name, const nfs3::sattr3& with,
                             const export_root& in) {
  const open_fd there(open_entry(dir, name, {.flags = O_PATH}), open_fd::use::path);
  if (there.number() < 0) return last_failure();
  const outcome<file_stat> st = stat_of(there.number());
  if (!st) return std::unexpected(st.error());
  if (!S_ISREG(st->st_mode)) return std::unexpected(nfsstat3::NFS3ERR_EXIST);
  if (with.size) {
    const open_fd fd(open_entry(dir, name, {.flags = O_WRONLY | O_NONBLOCK}), open_fd::use::write);
    if (fd.number() < 0) return last_failure();
    file_stat opened{};
    if (::fstat(fd.number(), &opened) != 0) return last_failure();
    if (opened.st_ino != st->st_ino) return std::unexpected(nfsstat3::NFS3ERR_JUKEBOX);
    if (::ftruncate(fd.number(), static_cast<off_t>(*with.size)) != 0) return last_failure();
  }
  return found_at(there.number(), in);
}

outcome<found> create_file(int dir, const std::string& name, const nfs3::sattr3& with, bool guarded,
                           const export_root& in) {
  if (with.size && *with.size > static_cast<std::uint64_t>(INT64_MAX))
    return std::unexpected(nfsstat3::NFS3ERR_FBIG);
  const open_fd fd(
      open_entry(dir, name,
                 {.flags = O_CREAT | O_EXCL | O_WRONLY, .mode = mode_of_new(with, file_mode)}),
      open_fd::use::write);
  if (fd.number() < 0 && errno == EEXIST && !guarded) return take_existing(dir, name, with, in);
  if (fd.number() < 0) return last_failure();
  if (with.size && *with.size > 0 && ::ftruncate(fd.number(), static_cast<off_t>(*with.size)) != 0)
    return last_failure();
  if (const outcome<void> set = set_attributes_of_new(fd.number(), with); !set)
    return std::unexpected(set.error());
  return found_at(fd.number(), in);
}

/// The entry that this thread has just made with another call than open.
outcome<found> finish_new(int dir, const std::string& name, const nfs3::sattr3& with,
                          const export_root& in) {
  const open_fd fd(open_entry(dir, name, {.flags = O_PATH}), open_fd::use::path);
  if (fd.number() < 0) return last_failure();
  if (const outcome<void> set = set_attributes_of_new(fd.number(), with); !set)
    return std::unexpected(set.error());
  return found_at(fd.number(), in);
}

}  // namespace

heddle::task<outcome<found>> disk_volume::create(object& dir, const std::string& name,
                                                 const nfs3::createhow3& how, const identity& who,
                                                 nfs3::wcc_data& seen) {
  disk_object& o = disk_object::of(dir);
  auto work = [&](int fd) -> outcome<found> {
    if (how.mode == nfs3::createmode3::EXCLUSIVE)
      return create_exclusive(fd, name, how.verf(), o.in());
    const bool guarded = how.mode == nfs3::createmode3::GUARDED;
    return create_file(fd, name, how.obj_attributes(), guarded, o.in());
  };
  co_return co_await change_directory<found>(o, who, seen, name, work);
}

heddle::task<outcome<found>> disk_volume::make_directory(object& dir, const std::string& name,
                                                         const nfs3::sattr3& with,
                                                         const identity& who,
                                                         nfs3::wcc_data& seen) {
  disk_object& o = disk_object::of(dir);
  auto work = [&](int fd) -> outcome<found> {
    if (::mkdirat(fd, name.c_str(), mode_of_new(with, directory_mode)) != 0) return last_failure();
    return finish_new(fd, name, with, o.in());
  };
  co_return co_await change_directory<found>(o, who, seen, name, work);
}

heddle::task<outcome<found>> disk_volume::make_link(object& dir, const std::string& name,
                                                    const nfs3::symlinkdata3& link,
                                                    const identity& who, nfs3::wcc_data& seen) {
  disk_object& o = disk_object::of(dir);
  const std::string& text = link.symlink_data;
  if (text.empty() || text.find('\0') != text.npos)
    co_return std::unexpected(nfsstat3::NFS3ERR_INVAL);
  if (text.size() > link_bytes_max) co_return std::unexpected(nfsstat3::NFS3ERR_NAMETOOLONG);
  auto work = [&](int fd) -> outcome<found> {
    if (::symlinkat(text.c_str(), fd, name.c_str()) != 0) return last_failure();
    return finish_new(fd, name, link.symlink_attributes, o.in());
  };
  co_return co_await change_directory<found>(o, who, seen, name, work);
}

heddle::task<outcome<found>> disk_volume::make_node(object& dir, const std::string& name,
                                                    const nfs3::mknoddata3& what,
                                                    const identity& who, nfs3::wcc_data& seen) {
  disk_object& o = disk_object::of(dir);
  mode_t type = 0;
  dev_t device = 0;
  const nfs3::sattr3* with = nullptr;
  switch (what.type) {
    case nfs3::ftype3::NF3CHR:
    case nfs3::ftype3::NF3BLK:
      type = what.type == nfs3::ftype3::NF3CHR ? S_IFCHR : S_IFBLK;
      device = makedev(what.device().spec.specdata1, what.device().spec.specdata2);
      with = &what.device().dev_attributes;
      break;
    case nfs3::ftype3::NF3SOCK:
    case nfs3::ftype3::NF3FIFO:
      type = what.type == nfs3::ftype3::NF3SOCK ? S_IFSOCK : S_IFIFO;
      with = &what.pipe_attributes();
      break;
    default:
      co_return std::unexpected(nfsstat3::NFS3ERR_BADTYPE);
  }
  auto work = [&](int fd) -> outcome<found> {
    if (::mknodat(fd, name.c_str(), type | mode_of_new(*with, file_mode), device) != 0)
      return last_failure();
    return finish_new(fd, name, *with, o.in());
  };
  co_return co_await change_directory<found>(o, who, seen, name, work);
}

}  // namespace nfs

// SPDX-License-Identifier: MIT
// READDIR and READDIRPLUS, and the numbers of file systems.
#include <dirent.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include "disk_pool.hh"
#include "disk_volume.hh"
#include "names.hh"

namespace nfs {
namespace {

/// An entry as getdents64 gives it.
struct kernel_entry {
  std::uint64_t inode;
  std::int64_t next;  // the cookie
  std::uint16_t len;
  std::uint8_t type;
  char name[1];
};

constexpr std::size_t entry_name_at = 19;  // offset of `name` in kernel_entry

class directory_reader {
 public:
  directory_reader(int dir, const export_root& in, const list_request& what, bool may_search)
      : dir_(dir), in_(in), what_(what), may_search_(may_search) {}

  outcome<listing> read() {
    // An own descriptor, because its place is changed.
    const open_fd own(::openat(dir_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), open_fd::use::read);
    if (own.number() < 0) return last_failure();
    if (what_.cookie != 0 &&
        (what_.cookie > static_cast<std::uint64_t>(INT64_MAX) ||
         ::lseek(own.number(), static_cast<off_t>(what_.cookie), SEEK_SET) < 0))
      return std::unexpected(nfsstat3::NFS3ERR_BAD_COOKIE);
    alignas(8) char buffer[32 << 10];
    for (;;) {
      const long got = ::syscall(SYS_getdents64, own.number(), buffer, sizeof buffer);
      if (got < 0) {
        if (errno == EINVAL && what_.cookie != 0)
          return std::unexpected(nfsstat3::NFS3ERR_BAD_COOKIE);
        return last_failure();
      }
      if (got == 0) {
        made_.end = true;
        return std::move(made_);
      }
      for (long at = 0; at < got;) {
        kernel_entry head{};
        std::memcpy(&head, buffer + at, entry_name_at);
        if (!add(head, buffer + at + entry_name_at)) {
          if (made_.entries.empty()) return std::unexpected(nfsstat3::NFS3ERR_TOOSMALL);
          return std::move(made_);
        }
        at += head.len;
      }
    }
  }

 private:
  /// Whether the entry still fits.
  bool add(const kernel_entry& head, const char* name) {
    listed e;
    e.fileid = head.inode;
    e.name = name;
    e.cookie = static_cast<std::uint64_t>(head.next);
    if (e.name == "..") {
      // Nothing above the export is shown, also not its number.
      file_stat st{};
      if (::fstat(dir_, &st) == 0 && st.st_dev == in_.device && st.st_ino == in_.inode)
        e.fileid = in_.inode;
    } else if (what_.with_handles && may_search_) {
      if (outcome<found> f =
              e.name == "." ? found_at(dir_, in_) : find_entry(dir_, e.name, in_, false)) {
        e.fileid = f->attributes->fileid;
        e.file = std::move(f->file);
        e.attributes = f->attributes;
      }
    }
    const std::size_t bytes = listed_bytes(e, what_.with_handles);
    const std::size_t name_bytes = listed_bytes(e, false);
    if (bytes > what_.bytes_max - bytes_) return false;
    if (!made_.entries.empty() && name_bytes > what_.names_bytes_max - name_bytes_) return false;
    bytes_ += bytes;
    name_bytes_ = std::min(what_.names_bytes_max, name_bytes_ + name_bytes);
    made_.entries.push_back(std::move(e));
    return true;
  }

  const int dir_;
  const export_root& in_;
  const list_request& what_;
  const bool may_search_;
  listing made_;
  std::size_t bytes_ = 0;
  std::size_t name_bytes_ = 0;
};

}  // namespace

heddle::task<outcome<listing>> disk_volume::list(object& dir, list_request what,
                                                 const identity& who) {
  disk_object& o = disk_object::of(dir);
  borrowed b = o.lend(who);
  auto work = [&]() -> outcome<listing> {
    const outcome<file_stat> st = stat_of(b.fd->number());
    if (!st) return std::unexpected(st.error());
    if (!S_ISDIR(st->st_mode)) return std::unexpected(nfsstat3::NFS3ERR_NOTDIR);
    const outcome<permissions> may = b.permitted(who, *st);
    if (!may) return std::unexpected(may.error());
    if (!may->read) return std::unexpected(nfsstat3::NFS3ERR_ACCES);
    return directory_reader(b.fd->number(), b.in, what, may->execute).read();
  };
  outcome<listing> made = co_await in_pool(work);
  o.learn(std::move(b), who);
  co_return made;
}

heddle::task<outcome<nfs::space>> disk_volume::space(object& of) {
  disk_object& o = disk_object::of(of);
  const open_ptr fd = o.fd_ptr();
  auto work = [&]() -> outcome<nfs::space> {
    if (const outcome<file_stat> st = stat_of(fd->number()); !st)
      return std::unexpected(st.error());
    struct statvfs fs{};
    if (::fstatvfs(fd->number(), &fs) != 0) return last_failure();
    nfs::space s;
    s.bytes = std::uint64_t{fs.f_blocks} * fs.f_frsize;
    s.bytes_free = std::uint64_t{fs.f_bfree} * fs.f_frsize;
    s.bytes_available = std::uint64_t{fs.f_bavail} * fs.f_frsize;
    s.files = fs.f_files;
    s.files_free = fs.f_ffree;
    s.files_available = fs.f_favail;
    return s;
  };
  co_return co_await in_pool(work);
}

heddle::task<outcome<nfs::limits>> disk_volume::limits(object& of) {
  disk_object& o = disk_object::of(of);
  const open_ptr fd = o.fd_ptr();
  auto work = [&]() -> outcome<nfs::limits> {
    if (const outcome<file_stat> st = stat_of(fd->number()); !st)
      return std::unexpected(st.error());
    struct statvfs fs{};
    if (::fstatvfs(fd->number(), &fs) != 0) return last_failure();
    nfs::limits l;
    l.file_bytes_max = static_cast<std::uint64_t>(INT64_MAX);  // a smaller one gives FBIG
    const long links = ::fpathconf(fd->number(), _PC_LINK_MAX);
    l.links_max = links > 0 ? static_cast<std::uint32_t>(std::min(links, long{INT32_MAX})) : 1;
    l.name_bytes_max =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(fs.f_namemax, nfs::name_bytes_max));
    return l;
  };
  co_return co_await in_pool(work);
}

}  // namespace nfs

// SPDX-License-Identifier: MIT
// Looking names up, and removing them.
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "disk_change.hh"
#include "disk_volume.hh"

namespace nfs {
namespace {

/// Directories between an object and its export's root; deeper ones cannot be left by "..".
constexpr int steps_up_max = 256;

/// The parent of a directory, if the way up leads to the export's root.
outcome<found> find_parent(int dir, const export_root& in) {
  const auto is_root = [&](const file_stat& st) {
    return st.st_dev == in.device && st.st_ino == in.inode;
  };
  const outcome<file_stat> start = stat_of(dir);
  if (!start) return std::unexpected(start.error());
  if (is_root(*start)) return found_at(dir, in);
  std::unique_ptr<open_fd> parent;
  std::unique_ptr<open_fd> at;
  file_stat below = *start;
  for (int step = 0; step < steps_up_max; ++step) {
    const int from = at ? at->number() : parent ? parent->number() : dir;
    const int fd = ::openat(from, "..", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return last_failure();
    auto next = std::make_unique<open_fd>(fd, open_fd::use::path);
    file_stat st{};
    if (::fstat(fd, &st) != 0) return last_failure();
    // The root of a file system is its own parent, or that of another file system.
    if (st.st_dev != in.device || st.st_ino == below.st_ino) break;
    below = st;
    (parent ? at : parent) = std::move(next);
    if (is_root(st)) return found_at(parent->number(), in);
  }
  return std::unexpected(nfsstat3::NFS3ERR_ACCES);
}

/// The handle of an entry whose object is gone when the entry is: its last name.
std::optional<handle> last_name(int dir, const std::string& name, const export_root& in) {
  const open_fd fd(open_entry(dir, name, {.flags = O_PATH}), open_fd::use::path);
  if (fd.number() < 0) return {};
  const outcome<file_stat> st = stat_of(fd.number());
  if (!st || (!S_ISDIR(st->st_mode) && st->st_nlink > 1)) return {};
  outcome<handle> h = handle_of(fd.number(), in);
  if (!h) return {};
  return std::move(*h);
}

}  // namespace

heddle::task<outcome<found>> disk_volume::lookup(object& dir, const std::string& name,
                                                 const identity& who) {
  disk_object& o = disk_object::of(dir);
  if (!o.in().remote) {
    const outcome<file_stat> st = stat_of(o.fd().number());
    if (!st) co_return std::unexpected(st.error());
    if (!S_ISDIR(st->st_mode)) co_return std::unexpected(nfsstat3::NFS3ERR_NOTDIR);
    if (name == ".") co_return found{o.own(), attributes_of(*st, o.in())};
    const permissions* const known = o.permitted(who, *st);
    if (known != nullptr && !known->execute) co_return std::unexpected(nfsstat3::NFS3ERR_ACCES);
    if (known != nullptr && name != "..") {
      outcome<found> f = find_entry(o.fd().number(), name, o.in(), true);
      if (f || f.error() != nfsstat3::NFS3ERR_JUKEBOX) {
        counters_.here.fetch_add(1, std::memory_order_relaxed);
        co_return f;
      }
    }
  }
  borrowed b = o.lend(who);
  auto work = [&]() -> outcome<found> {
    const outcome<file_stat> st = stat_of(b.fd->number());
    if (!st) return std::unexpected(st.error());
    if (!S_ISDIR(st->st_mode)) return std::unexpected(nfsstat3::NFS3ERR_NOTDIR);
    if (name == ".") return found{b.own, attributes_of(*st, b.in)};
    const outcome<permissions> may = b.permitted(who, *st);
    if (!may) return std::unexpected(may.error());
    if (!may->execute) return std::unexpected(nfsstat3::NFS3ERR_ACCES);
    if (name == "..") return find_parent(b.fd->number(), b.in);
    return find_entry(b.fd->number(), name, b.in, false);
  };
  outcome<found> f = co_await in_pool(work);
  o.learn(std::move(b), who);
  co_return f;
}

heddle::task<outcome<std::string>> disk_volume::read_link(object& of, const identity&) {
  disk_object& o = disk_object::of(of);
  const outcome<file_stat> st = co_await look(o);
  if (!st) co_return std::unexpected(st.error());
  if (!S_ISLNK(st->st_mode)) co_return std::unexpected(nfsstat3::NFS3ERR_INVAL);
  if (o.link_text) co_return *o.link_text;
  const open_ptr fd = o.fd_ptr();
  auto work = [&]() -> outcome<std::string> {
    std::string text(PATH_MAX, '\0');
    const ssize_t len = ::readlinkat(fd->number(), "", text.data(), text.size());
    if (len < 0) return last_failure();
    text.resize(static_cast<std::size_t>(len));
    return text;
  };
  outcome<std::string> text = co_await in_pool(work);
  if (text) o.link_text = *text;
  co_return text;
}

heddle::task<outcome<void>> disk_volume::remove_entry(disk_object& dir, const std::string& name,
                                                      const identity& who, nfs3::wcc_data& seen,
                                                      int flags) {
  std::optional<handle> gone;
  auto work = [&](int fd) -> outcome<void> {
    gone = last_name(fd, name, dir.in());
    if (::unlinkat(fd, name.c_str(), flags) != 0) return last_failure();
    return {};
  };
  const outcome<void> done = co_await change_directory<void>(dir, who, seen, name, work);
  if (done && gone) co_await forget(std::move(*gone));
  co_return done;
}

heddle::task<outcome<void>> disk_volume::remove(object& dir, const std::string& name,
                                                const identity& who, nfs3::wcc_data& seen) {
  return remove_entry(disk_object::of(dir), name, who, seen, 0);
}

heddle::task<outcome<void>> disk_volume::remove_directory(object& dir, const std::string& name,
                                                          const identity& who,
                                                          nfs3::wcc_data& seen) {
  return remove_entry(disk_object::of(dir), name, who, seen, AT_REMOVEDIR);
}

}  // namespace nfs

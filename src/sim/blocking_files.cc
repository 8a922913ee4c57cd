// SPDX-License-Identifier: MIT
// Calls on files that end at once. See blocking_files.hh.
#include "sim/blocking_files.hh"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "sim/process.hh"

namespace heddle::sim {

namespace {

/// The one of two paths that decides whether the folder matters: a relative one, if there is any.
const char* relative_of(const char* from, const char* to) noexcept {
  return *from == '/' ? to : from;
}

}  // namespace

template <class F>
std::int64_t blocking_files::make(op_code kind, int fd, std::size_t size, F call) noexcept {
  if (of_.is_cut()) return -ECANCELED;
  of_.record(trace_kind::submit, 0, kind, fd, static_cast<std::int64_t>(size));
  const fault f = of_.trouble.draw_now(kind, size);
  std::int64_t result = f.error;
  if (result == 0) {
    try {
      result = call(f);
    } catch (const std::bad_alloc&) {
      result = -ENOMEM;
    }
  }
  of_.record(trace_kind::done, 0, kind, fd, result);
  return result;
}

template <class F>
int blocking_files::make_at(op_code kind, int folder, const char* path, F call) noexcept {
  return static_cast<int>(make(kind, folder, 0, [&](const fault&) -> std::int64_t {
    inode_ptr start = of_.here.files.root();
    if (folder != AT_FDCWD && *path != '/') {
      const auto target = of_.find(folder);
      if (target == nullptr) return -EBADF;
      start = inode_of(*target);
      if (start == nullptr) return -ENOTDIR;
    }
    return call(start);
  }));
}

int blocking_files::open(int folder, const char* path, const ::open_how& how) noexcept {
  return make_at(op_code::open, folder, path, [&](const inode_ptr& start) {
    return of_.here.files.open(of_, start, path, &how);
  });
}

void blocking_files::close(int fd) noexcept {
  if (!of_.is_cut()) of_.close(fd);
}

std::int64_t blocking_files::read(int fd, void* into, std::size_t size, std::uint64_t at) noexcept {
  return make(op_code::read, fd, size, [&](const fault& f) -> std::int64_t {
    const auto from = of_.find(fd);
    const ::iovec whole{into, size};
    transfer t{{&whole, 1}, f.bytes_max};
    t.offset = at;
    return from == nullptr || inode_of(*from) == nullptr ? -EBADF : from->get(t);
  });
}

std::int64_t blocking_files::write(int fd, const void* from, std::size_t size,
                                   std::uint64_t at) noexcept {
  return make(op_code::write, fd, size, [&](const fault& f) -> std::int64_t {
    const auto to = of_.find(fd);
    const ::iovec whole{const_cast<void*>(from), size};
    transfer t{{&whole, 1}, f.bytes_max};
    t.offset = at;
    return to == nullptr || inode_of(*to) == nullptr ? -EBADF : to->put(t);
  });
}

int blocking_files::stat(int folder, const char* path, unsigned flags,
                         struct ::statx& out) noexcept {
  return make_at(op_code::stat, folder, path, [&](const inode_ptr& start) {
    if (*path != '\0' || (flags & AT_EMPTY_PATH) == 0)
      return of_.here.files.stat(start, path, flags, out);
    disk::describe(*start, out);
    return 0;
  });
}

int blocking_files::access(int folder, const char* path, int mode) noexcept {
  return make_at(op_code::stat, folder, path, [&](const inode_ptr& start) {
    const place found = of_.here.files.walk(start, path, {});
    if (found.error != 0) return found.error;
    const unsigned wanted = ((mode & R_OK) != 0 ? 0400u : 0) | ((mode & W_OK) != 0 ? 0200u : 0) |
                            ((mode & X_OK) != 0 ? 0100u : 0);
    return (found.found->mode & wanted) == wanted ? 0 : -EACCES;
  });
}

int blocking_files::link(int folder, const char* from, const char* to) noexcept {
  return make_at(op_code::rename, folder, relative_of(from, to),
                 [&](const inode_ptr& start) { return of_.here.files.link(start, from, to); });
}

int blocking_files::rename(int folder, const char* from, const char* to) noexcept {
  return make_at(op_code::rename, folder, relative_of(from, to),
                 [&](const inode_ptr& start) { return of_.here.files.rename(start, from, to); });
}

int blocking_files::remove(int folder, const char* path, unsigned flags) noexcept {
  return make_at(op_code::remove, folder, path,
                 [&](const inode_ptr& start) { return of_.here.files.remove(start, path, flags); });
}

int blocking_files::list(int folder, entry_receiver& each) noexcept {
  return static_cast<int>(make(op_code::list, folder, 0, [&](const fault&) -> std::int64_t {
    const auto target = of_.find(folder);
    const inode_ptr found = target == nullptr ? nullptr : inode_of(*target);
    if (found == nullptr) return -EBADF;
    std::vector<directory_entry> all;
    const std::int64_t count = of_.list_directory(*found, all);
    for (const directory_entry& e : all)
      if (!each.receive(e.name.c_str(), e.type)) return 0;
    return std::min<std::int64_t>(count, 0);
  }));
}

int blocking_files::path_of(int fd, std::string& out) noexcept {
  const auto target = of_.find(fd);
  const inode_ptr found = target == nullptr ? nullptr : inode_of(*target);
  if (found == nullptr) return -EBADF;
  try {
    out = of_.here.files.path_of(found);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
  return out.empty() ? -ENOENT : 0;
}

int blocking_files::set_flags(int fd, int flags) noexcept {
  const auto target = of_.find(fd);
  if (target == nullptr) return -EBADF;
  return set_open_flags(*target, static_cast<unsigned>(flags));
}

int blocking_files::replace(int fd, int next) noexcept {
  if (fd == next) return -EINVAL;
  const auto target = of_.find(next);
  if (target == nullptr || of_.find(fd) == nullptr) return -EBADF;
  std::shared_ptr<object> again = open_again(of_, *target);
  if (again == nullptr) return -EINVAL;
  of_.replace_descriptor(fd, std::move(again));
  return fd;
}

}  // namespace heddle::sim

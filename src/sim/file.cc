// SPDX-License-Identifier: MIT
// Open files and directories of the simulated disk: reading and writing at a place or at the
// cursor.
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>

#include <algorithm>

#include "sim/process.hh"

namespace heddle::sim {

namespace {

/// The part of an open file that its duplicates share.
struct opening {
  std::uint64_t flags;
  std::uint64_t cursor = 0;
};

class open_file final : public object {
 public:
  open_file(process& owner, inode_ptr file, std::uint64_t flags)
      : object(owner), file_(std::move(file)), how_(std::make_shared<opening>(opening{flags})) {}
  open_file(process& owner, const open_file& duplicated)
      : object(owner), file_(duplicated.file_), how_(duplicated.how_) {}

  std::int64_t get(const transfer& t) override {
    if (t.socket_call) return -ENOTSOCK;
    if ((how_->flags & O_PATH) != 0 || (how_->flags & O_ACCMODE) == O_WRONLY) return -EBADF;
    if (file_->what == inode::kind::directory) return -EISDIR;
    const std::uint64_t from = t.offset == at_cursor ? how_->cursor : t.offset;
    if (from >= file_->content.size()) return 0;
    const std::size_t len = std::min<std::uint64_t>(t.bytes(), file_->content.size() - from);
    t.fill(file_->content.data() + from, len);
    if (t.offset == at_cursor) how_->cursor = from + len;
    return static_cast<std::int64_t>(len);
  }
  std::int64_t put(const transfer& t) override {
    if (t.socket_call) return -ENOTSOCK;
    if ((how_->flags & O_PATH) != 0 || (how_->flags & O_ACCMODE) == O_RDONLY) return -EBADF;
    const bool append = (how_->flags & O_APPEND) != 0;
    std::uint64_t from = t.offset == at_cursor ? how_->cursor : t.offset;
    if (append) from = file_->content.size();
    const std::uint64_t len = t.bytes();
    if (from > world_.options.disk_bytes_max) return -EFBIG;
    if (len == 0) return 0;
    if (from + len > file_->content.size())
      if (const int e = here.files.resize(*file_, from + len); e != 0) return e;
    t.take(file_->content.data() + from, len);
    here.files.touch(*file_);
    if (t.offset == at_cursor) how_->cursor = from + len;
    return static_cast<std::int64_t>(len);
  }
  short events() override { return POLLIN | POLLOUT; }
  void describe(struct ::statx& out) override { disk::describe(*file_, out); }

  [[nodiscard]] const inode_ptr& file() const noexcept { return file_; }
  int set_flags(std::uint64_t flags) noexcept {
    if ((how_->flags & O_PATH) != 0) return -EBADF;
    if ((flags & O_DIRECT) != 0) return -EINVAL;  // each read of this disk is direct
    how_->flags = (how_->flags & ~std::uint64_t{O_APPEND}) | (flags & O_APPEND);
    return 0;
  }

 private:
  inode_ptr file_;
  std::shared_ptr<opening> how_;
};

}  // namespace

inode_ptr inode_of(const object& o) {
  const auto* file = dynamic_cast<const open_file*>(&o);
  return file == nullptr ? nullptr : file->file();
}

std::shared_ptr<object> open_again(process& by, const object& o) {
  const auto* file = dynamic_cast<const open_file*>(&o);
  return file == nullptr ? nullptr : std::make_shared<open_file>(by, *file);
}

int set_open_flags(object& o, std::uint64_t flags) noexcept {
  auto* const file = dynamic_cast<open_file*>(&o);
  return file == nullptr ? 0 : file->set_flags(flags);
}

int sync_object(object& o) {
  const inode_ptr file = inode_of(o);
  if (file == nullptr) return -EINVAL;
  o.here.files.sync(*file);
  return 0;
}

int disk::open(process& by, const inode_ptr& start, const char* path, const ::open_how* how) {
  const std::uint64_t flags = how == nullptr ? O_RDONLY : how->flags;
  const std::uint64_t resolve = how == nullptr ? 0 : how->resolve;
  constexpr std::uint64_t known = RESOLVE_BENEATH | RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS |
                                  RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  if ((resolve & ~known) != 0) return -EINVAL;
  if ((resolve & RESOLVE_BENEATH) != 0 && (resolve & RESOLVE_IN_ROOT) != 0) return -EINVAL;
  if ((flags & O_TMPFILE) == O_TMPFILE) return -EOPNOTSUPP;
  const bool create = (flags & O_CREAT) != 0;
  const bool exclusive = create && (flags & O_EXCL) != 0;
  place p = walk(start, path, {resolve, (flags & O_NOFOLLOW) == 0 && !exclusive});
  // A slash at the end asks for a folder, which open() does not make.
  if (create && p.wants_directory && (p.error == 0 || p.parent != nullptr)) return -EISDIR;
  if (p.error == -ENOENT && p.parent != nullptr && create) {
    if (!by.descriptor_left()) return -EMFILE;
    const auto mode = static_cast<std::uint32_t>(how->mode);
    p.found = make(inode::kind::file, mode, p.parent);
    log_.change({{p.parent, p.name, p.found}});
    touch(*p.parent);
    return by.add_descriptor(std::make_shared<open_file>(by, p.found, flags));
  }
  if (p.error != 0) return p.error;
  if (exclusive) return -EEXIST;
  const bool path_only = (flags & O_PATH) != 0;
  const bool writes = !path_only && (flags & O_ACCMODE) != O_RDONLY;
  const bool reads = !path_only && (flags & O_ACCMODE) != O_WRONLY;
  if (p.found->what == inode::kind::link && !path_only) return -ELOOP;
  if ((flags & O_DIRECTORY) != 0 && p.found->what != inode::kind::directory) return -ENOTDIR;
  if (p.found->what == inode::kind::directory && (writes || create)) return -EISDIR;
  if (p.found->what == inode::kind::socket && !path_only) return -ENXIO;
  if (reads && (p.found->mode & 0400) == 0) return -EACCES;
  if (writes && (p.found->mode & 0200) == 0) return -EACCES;
  if (!by.descriptor_left()) return -EMFILE;
  if (writes && (flags & O_TRUNC) != 0) {
    if (const int e = resize(*p.found, 0); e != 0) return e;
    touch(*p.found);
  }
  return by.add_descriptor(std::make_shared<open_file>(by, p.found, flags));
}

}  // namespace heddle::sim

// SPDX-License-Identifier: MIT
// The tree itself: making, removing, renaming, and which of it is durable. See disk.hh.
#include "sim/disk.hh"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "heddle/base/error.hh"

namespace heddle::sim {

disk::disk(std::uint64_t bytes_max, std::function<nanoseconds()> wall)
    : bytes_max_(bytes_max), wall_(std::move(wall)) {
  root_ = make(inode::kind::directory, 0755, nullptr);
  for (const char* path : {"/tmp", "/run"}) plant(path, inode::kind::directory, "");
}

inode_ptr disk::make(inode::kind what, std::uint32_t mode, const inode_ptr& parent) {
  auto n = std::make_shared<inode>();
  n->what = what;
  n->mode = mode & 07777;
  n->number = ++inodes_made_;
  n->parent = parent;
  touch(*n);
  return n;
}

void disk::touch(inode& n) { n.changed_at = wall_(); }

int disk::resize(inode& file, std::uint64_t len) {
  const std::uint64_t rest = bytes_ - file.content.size();
  if (len > bytes_max_ || rest > bytes_max_ - len) return -ENOSPC;
  file.content.resize(len);
  file.least_bytes = std::min<std::uint64_t>(file.least_bytes, len);
  bytes_ = rest + len;
  return 0;
}

void disk::sync(inode& n) {
  n.durable_content = n.content;
  n.least_bytes = n.content.size();
  if (n.what == inode::kind::directory) log_.commit(n);
}

void disk::plant(std::string_view path, inode::kind what, std::string_view content) {
  HEDDLE_ASSERT(!path.empty() && path.front() == '/', "plant files by absolute paths");
  inode_ptr dir = root_;
  for (std::size_t at = 1; at < path.size();) {
    std::size_t end = path.find('/', at);
    if (end == std::string_view::npos) end = path.size();
    const std::string name(path.substr(at, end - at));
    at = end + 1;
    if (name.empty()) continue;
    const bool last = at >= path.size();
    const inode::kind wanted = last ? what : inode::kind::directory;
    inode_ptr& entry = dir->names[name];
    if (entry == nullptr || entry->what != wanted)
      entry = make(wanted, wanted == inode::kind::directory ? 0755 : 0644, dir);
    dir->durable_names[name] = entry;
    dir = entry;
  }
  if (what == inode::kind::directory) return;
  bytes_ += content.size();
  bytes_ -= dir->content.size();
  dir->content = content;
  touch(*dir);
  sync(*dir);
}

inode_ptr disk::at(std::string_view path) const { return walk(root_, path, {}).found; }

bool disk::exists(std::string_view path) const { return at(path) != nullptr; }

int disk::remove(const inode_ptr& start, const char* path, unsigned flags) {
  const place p = walk(start, path, {0, false});
  if (p.error != 0) return p.error;
  const bool directory = p.found->what == inode::kind::directory;
  if ((flags & AT_REMOVEDIR) != 0) {
    if (p.name.empty()) return p.found == root_ ? -EBUSY : -EINVAL;
    if (!directory) return -ENOTDIR;
    if (!p.found->names.empty()) return -ENOTEMPTY;
  } else if (directory) {
    return -EISDIR;
  }
  log_.change({{p.parent, p.name, nullptr}});
  touch(*p.parent);
  return 0;
}

int disk::rename(const inode_ptr& start, const char* source, const char* target) {
  const place from = walk(start, source, {0, false});
  if (from.error != 0 && from.parent == nullptr) return from.error;
  const place to = walk(start, target, {0, false});
  if (to.error != 0 && to.parent == nullptr) return to.error;
  if (from.name.empty() || to.name.empty()) return -EBUSY;
  if (from.error != 0) return from.error;
  const bool directory = from.found->what == inode::kind::directory;
  if (to.wants_directory && !directory) return -ENOTDIR;
  if (from.found == to.found) return 0;
  // A directory must not become its own descendant.
  for (inode_ptr up = to.parent; up != nullptr; up = up->parent.lock())
    if (up == from.found) return -EINVAL;
  for (inode_ptr up = from.parent; up != nullptr; up = up->parent.lock())
    if (up == to.found) return -ENOTEMPTY;
  if (to.found != nullptr) {
    const bool over_directory = to.found->what == inode::kind::directory;
    if (directory && !over_directory) return -ENOTDIR;
    if (!directory && over_directory) return -EISDIR;
    if (over_directory && !to.found->names.empty()) return -ENOTEMPTY;
  }
  const inode_ptr moved = from.found;
  log_.change({{from.parent, from.name, nullptr}, {to.parent, to.name, moved}});
  moved->parent = to.parent;
  touch(*from.parent);
  touch(*to.parent);
  return 0;
}

int disk::link(const inode_ptr& start, const char* source, const char* target) {
  const place from = walk(start, source, {0, false});
  if (from.error != 0) return from.error;
  // A slash at the end asks for a folder, and is looked at after the name.
  std::string_view name = target;
  while (name.size() > 1 && name.ends_with('/')) name.remove_suffix(1);
  const place to = walk(start, name, {0, false});
  if (to.error == 0) return -EEXIST;
  if (to.parent == nullptr) return to.error;
  if (name.size() != std::string_view(target).size()) return -ENOENT;
  if (from.found->what == inode::kind::directory) return -EPERM;
  log_.change({{to.parent, to.name, from.found}});
  touch(*to.parent);
  return 0;
}

int disk::make_directory(const inode_ptr& start, const char* path, unsigned mode) {
  const place p = walk(start, path, {0, false});
  if (p.found != nullptr) return -EEXIST;
  if (p.parent == nullptr) return p.error;
  log_.change({{p.parent, p.name, make(inode::kind::directory, mode, p.parent)}});
  touch(*p.parent);
  return 0;
}

int disk::make_socket(const std::string& path) {
  const place p = walk(root_, path, {0, false});
  if (p.found != nullptr) return -EADDRINUSE;
  if (p.parent == nullptr) return p.error;
  log_.change({{p.parent, p.name, make(inode::kind::socket, 0755, p.parent)}});
  touch(*p.parent);
  return 0;
}

disk::listing disk::list(bool durable) const {
  listing all;
  std::set<const inode*> seen;
  std::vector<std::pair<std::string, inode_ptr>> rest{{"", root_}};
  while (!rest.empty()) {
    const auto [path, n] = std::move(rest.back());
    rest.pop_back();
    if (n->what == inode::kind::file) all[path] = durable ? n->durable_content : n->content;
    if (n->what != inode::kind::directory || !seen.insert(n.get()).second) continue;
    for (const auto& [name, child] : durable ? n->durable_names : n->names)
      rest.emplace_back(path + '/' + name, child);
  }
  return all;
}

int disk::stat(const inode_ptr& start, const char* path, unsigned flags,
               struct ::statx& out) const {
  const place p = walk(start, path, {0, (flags & AT_SYMLINK_NOFOLLOW) == 0});
  if (p.error != 0) return p.error;
  describe(*p.found, out);
  return 0;
}

std::string disk::path_of(inode_ptr n) const {
  std::string path;
  while (n != root_) {
    const inode_ptr up = n->parent.lock();
    if (up == nullptr) return {};
    const auto entry =
        std::ranges::find(up->names, n, [](const auto& each) { return each.second; });
    if (entry == up->names.end()) return {};
    path.insert(0, '/' + entry->first);
    n = up;
  }
  return path.empty() ? "/" : path;
}

void disk::describe(const inode& n, struct ::statx& out) {
  static constexpr std::uint16_t kinds[] = {S_IFREG, S_IFDIR, S_IFLNK, S_IFSOCK};
  constexpr std::int64_t second = 1'000'000'000;
  out = {};
  out.stx_mask = STATX_BASIC_STATS;
  out.stx_blksize = 4096;
  out.stx_mode = static_cast<std::uint16_t>(kinds[static_cast<int>(n.what)] | n.mode);
  out.stx_ino = n.number;
  out.stx_nlink = n.what == inode::kind::directory ? 2 : 1;
  out.stx_size = n.content.size();
  out.stx_blocks = (n.content.size() + 511) / 512;
  out.stx_mtime.tv_sec = n.changed_at.count() / second;
  out.stx_mtime.tv_nsec = static_cast<std::uint32_t>(n.changed_at.count() % second);
  out.stx_atime = out.stx_ctime = out.stx_mtime;
}

}  // namespace heddle::sim

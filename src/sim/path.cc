// SPDX-License-Identifier: MIT
// Walking of paths with the rules of openat2: beneath a directory, with a directory as root,
// without symbolic links.
#include <fcntl.h>
#include <linux/openat2.h>

#include <cerrno>
#include <deque>

#include "sim/disk.hh"

namespace heddle::sim {

namespace {

constexpr unsigned links_followed_max = 40;  // Linux's own limit
constexpr std::size_t path_bytes_max = 4096;
constexpr std::size_t name_bytes_max = 255;

/// Puts the parts of a path before what is still to be walked.
void put_first(std::deque<std::string>& parts, std::string_view path) {
  std::deque<std::string> fresh;
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty()) fresh.emplace_back(part);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  }
  parts.insert(parts.begin(), fresh.begin(), fresh.end());
}

}  // namespace

place disk::walk(inode_ptr start, std::string_view path, walk_rules rules) const {
  const auto failed = [](int error) { return place{error, nullptr, {}, nullptr, false}; };
  if (path.empty()) return failed(-ENOENT);
  if (path.size() >= path_bytes_max) return failed(-ENAMETOOLONG);
  const bool beneath = (rules.resolve & RESOLVE_BENEATH) != 0;
  const bool in_root = (rules.resolve & RESOLVE_IN_ROOT) != 0;
  const inode_ptr top = beneath || in_root ? start : root_;
  if (start->what != inode::kind::directory) return failed(-ENOTDIR);

  place p;
  p.found = start;
  if (path.front() == '/') {
    if (beneath) return failed(-EXDEV);
    p.found = top;
  }
  std::deque<std::string> parts;
  put_first(parts, path);
  p.wants_directory = path.back() == '/';
  unsigned links = 0;
  while (!parts.empty()) {
    const std::string part = std::move(parts.front());
    parts.pop_front();
    if (p.found->what != inode::kind::directory) return failed(-ENOTDIR);
    if (part == ".") {
      if (parts.empty()) {  // names no entry, as ".." at the end
        p.parent = nullptr;
        p.name.clear();
      }
      continue;
    }
    if (part == "..") {
      if (p.found == top) {
        if (beneath) return failed(-EXDEV);
      } else if (auto up = p.found->parent.lock()) {
        p.found = std::move(up);
      }
      p.parent = nullptr;
      p.name.clear();
      continue;
    }
    if (part.size() > name_bytes_max) return failed(-ENAMETOOLONG);
    if ((p.found->mode & 0100) == 0) return failed(-EACCES);
    p.parent = p.found;
    p.name = part;
    const auto entry = p.parent->names.find(part);
    if (entry == p.parent->names.end()) {
      if (!parts.empty()) return failed(-ENOENT);
      p.found = nullptr;
      p.error = -ENOENT;
      return p;
    }
    p.found = entry->second;
    const bool last = parts.empty() && !p.wants_directory;
    if (p.found->what == inode::kind::link && (!last || rules.follow_last)) {
      if ((rules.resolve & RESOLVE_NO_SYMLINKS) != 0) return failed(-ELOOP);
      if (++links > links_followed_max) return failed(-ELOOP);
      const std::string& target = p.found->content;
      if (!target.empty() && target.front() == '/') {
        if (beneath) return failed(-EXDEV);
        p.parent = top;
      }
      if (parts.empty() && !target.empty() && target.back() == '/') p.wants_directory = true;
      const inode_ptr from = p.parent;
      put_first(parts, target);
      p.found = from;
      p.parent = nullptr;
      p.name.clear();
    }
  }
  if (p.wants_directory && p.found->what != inode::kind::directory) p.error = -ENOTDIR;
  return p;
}

}  // namespace heddle::sim

// SPDX-License-Identifier: MIT
// The simulated disk: a tree of directories, files, symbolic links and names of sockets, with the
// path rules of openat2. An inode keeps its durable state too, so that a power failure can be
// played.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/clock.hh"
#include "sim/inode.hh"
#include "sim/name_log.hh"
#include "sim/random.hh"

struct open_how;

namespace heddle::sim {

class object;
class process;

/// The result of walking a path.
struct place {
  int error = 0;  ///< -errno; -ENOENT with `parent` set: only the last name is missing
  inode_ptr parent;
  std::string name;  ///< the last name, in parent; empty when the path ended at a directory itself
  inode_ptr found;
  bool wants_directory = false;  ///< the path ended in a slash
};

struct walk_rules {
  std::uint64_t resolve = 0;  ///< RESOLVE_*
  bool follow_last = true;    ///< a link at the end is followed
};

struct file_entry {
  std::string name;
  inode::kind what;
};

class disk {
 public:
  /// `wall` gives the time for changed files.
  disk(std::uint64_t bytes_max, std::function<nanoseconds()> wall);

  [[nodiscard]] place walk(inode_ptr start, std::string_view path, walk_rules rules) const;
  [[nodiscard]] const inode_ptr& root() const noexcept { return root_; }

  // Calls on paths, as the kernel answers them.
  [[nodiscard]] int open(process& by, const inode_ptr& start, const char* path,
                         const ::open_how* how);
  [[nodiscard]] int stat(const inode_ptr& start, const char* path, unsigned flags,
                         struct ::statx& out) const;
  int remove(const inode_ptr& start, const char* path, unsigned flags);
  int rename(const inode_ptr& start, const char* source, const char* target);
  /// Gives a file a second name.
  int link(const inode_ptr& start, const char* source, const char* target);
  int make_directory(const inode_ptr& start, const char* path, unsigned mode);
  /// Makes the name of a Unix socket. -EADDRINUSE when the name exists.
  int make_socket(const std::string& path);
  [[nodiscard]] bool exists(std::string_view path) const;

  // Files made by tests; durable at once, and missing parents are made.
  void plant(std::string_view path, inode::kind what, std::string_view content);
  [[nodiscard]] inode_ptr at(std::string_view path) const;

  /// The paths and the content of all files; `durable`: as crash() would leave them.
  using listing = std::map<std::string, std::string>;
  [[nodiscard]] listing list(bool durable) const;
  /// Plays a power failure. Each change that was not synced is kept or lost as `kept` draws;
  /// without it, all are lost. The rest is durable then (disk_crash.cc).
  void crash(random_stream* kept = nullptr);
  /// Changes the length of a file within the disk's limit: 0 or -ENOSPC.
  int resize(inode& file, std::uint64_t len);
  void touch(inode& n);
  /// Makes the content of a file, or the names in a folder, durable.
  void sync(inode& n);
  static void describe(const inode& n, struct ::statx& out);
  /// The path from the root; empty if the inode was removed.
  [[nodiscard]] std::string path_of(inode_ptr n) const;

 private:
  [[nodiscard]] inode_ptr make(inode::kind what, std::uint32_t mode, const inode_ptr& parent);

  std::uint64_t bytes_max_;
  std::function<nanoseconds()> wall_;
  name_log log_;
  inode_ptr root_;
  std::uint64_t inodes_made_ = 0;
  std::uint64_t bytes_ = 0;
};

/// The inode of an open file or directory; null when it is neither.
[[nodiscard]] inode_ptr inode_of(const object& o);
/// Duplicates an open file, with one cursor for both; null if the object is no file.
[[nodiscard]] std::shared_ptr<object> open_again(process& by, const object& o);
/// Changes O_APPEND of an open file, as F_SETFL; other objects have no such flags.
[[nodiscard]] int set_open_flags(object& o, std::uint64_t flags) noexcept;
/// Syncs an open file or directory; -EINVAL for any other object.
[[nodiscard]] int sync_object(object& o);

}  // namespace heddle::sim

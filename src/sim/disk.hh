// SPDX-License-Identifier: MIT
// The simulated disk: a tree of directories, files, symbolic links and names of sockets, with the
// path rules of openat2. A node keeps its durable state too, so that a power failure can be played.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/base/clock.hh"

struct open_how;

namespace heddle::sim {

class object;
class world;

struct node {
  enum class kind : std::uint8_t { file, directory, link, socket };
  using children = std::map<std::string, std::shared_ptr<node>, std::less<>>;

  kind what;
  std::uint32_t mode;
  std::uint64_t number;
  nanoseconds changed_at{0};
  std::string content;         ///< a file's content; a link's target
  children names;              ///< a directory's entries
  std::weak_ptr<node> parent;  ///< a directory's parent

  // The state at the last sync.
  std::string durable_content;
  children durable_names;
};

using node_ptr = std::shared_ptr<node>;

/// The result of walking a path.
struct place {
  int error = 0;  ///< -errno; -ENOENT with `parent` set: only the last name is missing
  node_ptr parent;
  std::string name;  ///< the last name, in parent; empty when the path ended at a directory itself
  node_ptr found;
  bool wants_directory = false;  ///< the path ended in a slash
};

struct walk_rules {
  std::uint64_t resolve = 0;  ///< RESOLVE_*
  bool follow_last = true;    ///< a link at the end is followed
};

struct file_entry {
  std::string name;
  node::kind what;
};

class disk {
 public:
  explicit disk(world& w);

  [[nodiscard]] place walk(node_ptr start, std::string_view path, walk_rules rules) const;
  [[nodiscard]] const node_ptr& root() const noexcept { return root_; }

  // Calls on paths, as the kernel answers them.
  [[nodiscard]] int open(const node_ptr& start, const char* path, const ::open_how* how);
  [[nodiscard]] int stat(const node_ptr& start, const char* path, unsigned flags,
                         struct ::statx& out) const;
  int remove(const node_ptr& start, const char* path, unsigned flags);
  int rename(const node_ptr& start, const char* source, const char* target);
  int make_directory(const node_ptr& start, const char* path, unsigned mode);
  /// Makes the name of a Unix socket. -EADDRINUSE when the name exists.
  int make_socket(const std::string& path);
  [[nodiscard]] bool exists(std::string_view path) const;

  // Files made by tests; durable at once, and missing parents are made.
  void plant(std::string_view path, node::kind what, std::string_view content);
  [[nodiscard]] node_ptr at(std::string_view path) const;

  /// The paths and the content of all files; `durable`: as crash() would leave them.
  using listing = std::map<std::string, std::string>;
  [[nodiscard]] listing list(bool durable) const;
  /// Forgets everything that was not synced.
  void crash();
  /// Changes the length of a file within the disk's limit: 0 or -ENOSPC.
  int resize(node& file, std::uint64_t len);
  void touch(node& n);
  static void sync(node& n);
  static void describe(const node& n, struct ::statx& out);

 private:
  [[nodiscard]] node_ptr make(node::kind what, std::uint32_t mode, const node_ptr& parent);

  world& world_;
  node_ptr root_;
  std::uint64_t nodes_made_ = 0;
  std::uint64_t bytes_ = 0;
};

/// The node of an open file or directory; null when it is neither.
[[nodiscard]] node_ptr node_of(const object& o);
/// Syncs an open file or directory; -EINVAL for any other object.
[[nodiscard]] int sync_object(object& o);

}  // namespace heddle::sim

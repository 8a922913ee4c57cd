// SPDX-License-Identifier: MIT
// One object of a memory_tree: a file, a directory, a link, a pipe or a device.
#pragma once

#include <map>

#include "permission.hh"

namespace nfs {

struct memory_node;

/// An entry of a directory. The cookie is its place in listings, and never changes.
struct memory_entry {
  std::shared_ptr<memory_node> node;
  std::uint64_t cookie = 0;
};

/// Owns: a directory owns its entries' nodes.
struct memory_node final : object {
  std::uint64_t id = 0;
  std::uint32_t export_number = 0;
  nfs3::ftype3 type = nfs3::ftype3::NF3REG;
  std::uint32_t mode = 0, uid = 0, gid = 0;
  std::uint32_t links = 0;  ///< 0: removed
  nfs3::specdata3 rdev;
  nfs3::nfstime3 atime, mtime, ctime;

  std::string bytes;                  ///< a file's content, or a link's text
  std::optional<std::string> stable;  ///< the content that a crash leaves, if it is another one
  std::optional<nfs3::createverf3> made_by;  ///< the verifier of an exclusive CREATE

  using names_map = std::map<std::string, memory_entry, std::less<>>;
  memory_node* parent = nullptr;  ///< of a directory; a root is its own
  names_map names;
  std::map<std::uint64_t, names_map::const_iterator> by_cookie;
  std::uint64_t last_cookie = 2;  ///< 1 is ".", 2 is ".."

  [[nodiscard]] bool is_directory() const noexcept { return type == nfs3::ftype3::NF3DIR; }
  [[nodiscard]] bool is_file() const noexcept { return type == nfs3::ftype3::NF3REG; }
  [[nodiscard]] ownership owner() const noexcept { return {mode, uid, gid, is_directory()}; }
};

}  // namespace nfs

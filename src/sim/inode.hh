// SPDX-License-Identifier: MIT
// A file, directory, link or socket name of the simulated disk, as it is and as the last sync left
// it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "heddle/base/clock.hh"

namespace heddle::sim {

struct inode {
  enum class kind : std::uint8_t { file, directory, link, socket };
  using children = std::map<std::string, std::shared_ptr<inode>, std::less<>>;

  kind what;
  std::uint32_t mode;
  std::uint64_t number;
  nanoseconds changed_at{0};
  std::string content;          ///< a file's content; a link's target
  children names;               ///< a directory's entries
  std::weak_ptr<inode> parent;  ///< where it is, or was before it was removed

  // The state at the last sync.
  std::string durable_content;
  std::uint64_t least_bytes = 0;  ///< the content's shortest length since then
  children durable_names;
};

using inode_ptr = std::shared_ptr<inode>;

}  // namespace heddle::sim

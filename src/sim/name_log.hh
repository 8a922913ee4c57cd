// SPDX-License-Identifier: MIT
// The journal of the simulated disk: changes of names that are not durable yet, in their order. A
// change is whole or not at all, also a rename between two folders, and it needs the earlier ones
// that touched the same names and inodes.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/random.hh"

namespace heddle::sim {

struct inode;

/// A name in a folder, and what it means from now on; null: nothing.
struct name_entry {
  std::shared_ptr<inode> folder;
  std::string name;
  std::shared_ptr<inode> now;
};

class name_log {
 public:
  /// Makes a change in the present state: one entry for a new or removed name, two for a rename.
  void change(std::vector<name_entry> entries);
  /// Makes the changes in a folder durable, and the earlier ones that they need.
  void commit(const inode& folder);
  /// Plays a power failure: makes some changes durable, as the seed draws, and drops all others.
  void crash(random_stream* kept);

 private:
  struct change_of_names {
    std::vector<name_entry> entries;
    std::vector<const inode*> moved;   // made, moved, replaced or removed
    std::vector<const inode*> around;  // a rename's folders, and those around them
  };
  /// Names and inodes that some changes touch.
  class touched {
   public:
    void add(const change_of_names& c);
    [[nodiscard]] bool meets(const change_of_names& c) const;

   private:
    std::set<std::pair<const inode*, std::string>> names_;
    std::set<const inode*> moved_, around_;
  };
  static void make_durable(const change_of_names& c);

  std::vector<change_of_names> log_;
};

}  // namespace heddle::sim

// SPDX-License-Identifier: MIT
// The attributes of an object right before and after a change, for the files of memory_tree.
#pragma once

#include "memory_tree.hh"

namespace nfs {

/// Notes the attributes when it is made, and again when it ends.
class memory_tree::change {
 public:
  change(const memory_tree& tree, const memory_node& n, nfs3::wcc_data& seen);
  ~change();
  change(const change&) = delete;
  change& operator=(const change&) = delete;

 private:
  const memory_tree& tree_;
  const memory_node& node_;
  nfs3::wcc_data& seen_;
};

}  // namespace nfs

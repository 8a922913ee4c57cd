// SPDX-License-Identifier: MIT
// The world of the cluster that runs on this thread, for code outside of all nodes, as functions
// given to cluster::at().
#pragma once

namespace heddle::sim {

class world;

/// Makes a world the running one of this thread, until this dies.
class running_world {
 public:
  explicit running_world(world& w) noexcept;
  running_world(const running_world&) = delete;
  running_world& operator=(const running_world&) = delete;
  ~running_world();

  /// The running world of this thread; null without one.
  [[nodiscard]] static world* here() noexcept;

 private:
  world* before_;
};

}  // namespace heddle::sim

// SPDX-License-Identifier: MIT
// A descriptor of a foreign library that a function waits for: the way to run a foreign loop or
// library inside ours.
//
//   watched_descriptor theirs(uv_backend_fd(loop));
//   co_await theirs.ready(POLLIN);
//   uv_run(loop, UV_RUN_NOWAIT);
#pragma once

#include "heddle/core/task.hh"

namespace heddle {

/// Thread: one color.
/// Owns: a duplicate; theirs may be closed meanwhile, and ours is closed at the end.
/// Cancel: ready() ends; nothing is read or written by it at any time.
/// Fails: as the system says when the number is no descriptor.
class watched_descriptor {
 public:
  explicit watched_descriptor(int theirs);
  watched_descriptor(watched_descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  watched_descriptor& operator=(watched_descriptor&&) = delete;
  ~watched_descriptor();

  /// Waits until one of these poll(2) events is there, or an error or hang-up; gives what there is.
  [[nodiscard]] task<unsigned> ready(unsigned events) const;

 private:
  int fd_;
};

}  // namespace heddle

// SPDX-License-Identifier: MIT
// From a file to a socket without the bytes passing through this process. It does not wait: not for
// the client, since the socket is made non-blocking meanwhile, and not for a disk, since only what
// is in memory is sent this way. Not under a driver whose descriptors are not the kernel's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::http {

/// Thread: one. Owns: the socket's mode, until it ends.
class kernel_copy {
 public:
  explicit kernel_copy(int socket) noexcept;
  ~kernel_copy();
  kernel_copy(const kernel_copy&) = delete;

  [[nodiscard]] bool usable() const noexcept { return mode_ >= 0; }
  /// Whether the part's first and last byte are in memory: read ahead of need, or read before. A
  /// file system that cannot tell has nothing in memory.
  [[nodiscard]] static bool in_memory(int file, std::uint64_t at, std::size_t size) noexcept;
  /// Bytes that went, perhaps fewer; 0 when the file ends before them; -EAGAIN when the socket is
  /// full; else -errno.
  [[nodiscard]] std::int64_t send(int file, std::uint64_t at, std::size_t size) const noexcept;

 private:
  int socket_;
  int mode_;  // the descriptor's flags before, or -1
};

}  // namespace heddle::http

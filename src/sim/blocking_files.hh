// SPDX-License-Identifier: MIT
// The simulated disk for code that would block: each call happens at once. Faults come as for
// operations of the same kind, but for delays and EINTR.
#pragma once

#include "heddle/sched/driver_files.hh"
#include "sim/inode.hh"

namespace heddle::sim {

class process;

/// Thread: the world's.
class blocking_files final : public driver_files {
 public:
  explicit blocking_files(process& of) noexcept : of_(of) {}

  int open(int folder, const char* path, const ::open_how& how) noexcept override;
  void close(int fd) noexcept override;
  std::int64_t read(int fd, void* into, std::size_t size, std::uint64_t at) noexcept override;
  std::int64_t write(int fd, const void* from, std::size_t size,
                     std::uint64_t at) noexcept override;
  int stat(int folder, const char* path, unsigned flags, struct ::statx& out) noexcept override;
  int access(int folder, const char* path, int mode) noexcept override;
  int link(int folder, const char* from, const char* to) noexcept override;
  int rename(int folder, const char* from, const char* to) noexcept override;
  int remove(int folder, const char* path, unsigned flags) noexcept override;
  int list(int folder, entry_receiver& each) noexcept override;
  int path_of(int fd, std::string& out) noexcept override;
  int set_flags(int fd, int flags) noexcept override;
  int replace(int fd, int next) noexcept override;

 private:
  /// Makes a call, unless a fault comes instead, and records it.
  template <class F>
  std::int64_t make(op_code kind, int fd, std::size_t size, F call) noexcept;
  /// As above for a path: the call gets the inode where it begins.
  template <class F>
  int make_at(op_code kind, int folder, const char* path, F call) noexcept;

  process& of_;
};

}  // namespace heddle::sim

// SPDX-License-Identifier: MIT
// The files of the system: one system call each.
#pragma once

#include "heddle/sched/driver_files.hh"

namespace heddle {

/// Thread: any. It has no state.
class system_files final : public driver_files {
 public:
  static system_files all;

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
};

}  // namespace heddle

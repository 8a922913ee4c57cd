// SPDX-License-Identifier: MIT
// Calls on files that the thread waits for: at a program's start, in constructors, and in functions
// that run where blocking is allowed. Other code uses operations (driver_operations.hh).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "heddle/sched/operation.hh"

struct open_how;
struct statx;

namespace heddle {

enum class entry_type : std::uint8_t;  // io/directory_entry.hh

/// Gets the entries of a folder. If it throws bad_alloc, the list ends with -ENOMEM.
class entry_receiver {
 public:
  /// Returns whether it wants more entries; if not, the list ends.
  [[nodiscard]] virtual bool receive(const char* name, entry_type type) = 0;

 protected:
  ~entry_receiver() = default;
};

/// Paths are those of openat(2): a relative one begins at the open folder, or with AT_FDCWD at the
/// working folder. Each call returns >= 0 or -errno.
/// Thread: any; in a simulation its own.
class driver_files {
 public:
  /// Opens as openat2(2): flags, mode, and which paths are refused.
  [[nodiscard]] virtual int open(int folder, const char* path, const ::open_how& how) noexcept = 0;
  virtual void close(int fd) noexcept = 0;
  /// Reads at most `size` bytes; 0 at the end.
  [[nodiscard]] virtual std::int64_t read(int fd, void* into, std::size_t size,
                                          std::uint64_t at = at_cursor) noexcept = 0;
  /// Writes at most `size` bytes; behind the end of a file that is open for appending.
  [[nodiscard]] virtual std::int64_t write(int fd, const void* from, std::size_t size,
                                           std::uint64_t at = at_cursor) noexcept = 0;
  /// Reads the state of a path, or with "" and AT_EMPTY_PATH of `folder` itself.
  [[nodiscard]] virtual int stat(int folder, const char* path, unsigned flags,
                                 struct ::statx& out) noexcept = 0;
  /// Whether the process may use the path in this way: W_OK and so on, of access(2).
  [[nodiscard]] virtual int access(int folder, const char* path, int mode) noexcept = 0;
  /// Gives a file a second name; -EEXIST if that is taken.
  [[nodiscard]] virtual int link(int folder, const char* from, const char* to) noexcept = 0;
  [[nodiscard]] virtual int rename(int folder, const char* from, const char* to) noexcept = 0;
  virtual int remove(int folder, const char* path, unsigned flags = 0) noexcept = 0;
  /// Gives each entry of an open folder but "." and "..", in no order, until the receiver has
  /// enough: 0 then, too.
  [[nodiscard]] virtual int list(int folder, entry_receiver& each) noexcept = 0;
  /// The present path of an open file or folder, without symbolic links.
  [[nodiscard]] virtual int path_of(int fd, std::string& out) noexcept = 0;
  /// Changes O_APPEND, O_DIRECT and O_NONBLOCK of an open file, as F_SETFL of fcntl(2).
  [[nodiscard]] virtual int set_flags(int fd, int flags) noexcept = 0;
  /// Makes the number `fd` mean the file that `next` means, as dup3(2).
  [[nodiscard]] virtual int replace(int fd, int next) noexcept = 0;

 protected:
  ~driver_files() = default;
};

}  // namespace heddle

// SPDX-License-Identifier: MIT
// Files for code that may block: a program's start, constructors, functions on the pool. They are
// those of the running driver, so such code sees the disk of a simulation, too.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "heddle/sched/driver_files.hh"

namespace heddle::detail {

/// The files of this thread's worker. A thread without a worker, as those of the pool are, has
/// those of the system: a simulation has no such threads. Thread: any.
[[nodiscard]] driver_files& files_here() noexcept;

/// An open file or folder for such code. Its driver outlives it.
/// Thread: any. Owns: the descriptor.
class blocking_file {
 public:
  blocking_file() noexcept = default;
  /// Opens with flags of open(2), and O_CLOEXEC. Fails: failure, "cannot VERB 'PATH'".
  explicit blocking_file(const std::string& path, int flags, const char* verb = "open",
                         unsigned mode = 0);
  blocking_file(blocking_file&& other) noexcept
      : files_(other.files_), fd_(std::exchange(other.fd_, -1)) {}
  blocking_file& operator=(blocking_file&& other) noexcept {
    std::swap(files_, other.files_);
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~blocking_file() {
    if (fd_ >= 0) files_->close(fd_);
  }

  [[nodiscard]] int number() const noexcept { return fd_; }
  [[nodiscard]] driver_files& files() const noexcept { return *files_; }

 private:
  driver_files* files_ = nullptr;
  int fd_ = -1;
};

inline constexpr std::size_t blocking_read_max = std::size_t{64} << 20;

/// Reads a file to its end. Fails: failure, "cannot VERB 'PATH'", or file_too_large.
[[nodiscard]] std::string read_file_now(const std::string& path, const char* verb = "read",
                                        std::size_t limit = blocking_read_max);

}  // namespace heddle::detail

// SPDX-License-Identifier: MIT
// An open file from which an answer is read; the driver closes it.
#pragma once

#include <utility>

namespace heddle::http {

/// Thread: one color. Owns: the descriptor.
class open_file {
 public:
  open_file() noexcept = default;
  explicit open_file(int fd) noexcept : fd_(fd) {}
  open_file(open_file&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  open_file& operator=(open_file&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~open_file();

  [[nodiscard]] int number() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace heddle::http

// SPDX-License-Identifier: MIT
// How often each descriptor's number was closed or given again, for drivers of one runtime that
// each keep notes about it: a driver's earlier notes are then about another file.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "heddle/base/error.hh"

namespace heddle {

/// Thread: any. Memory is committed as numbers are used.
class fd_epochs {
 public:
  fd_epochs() {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
      throw failure(kernel_error(-errno), "cannot reserve a table of descriptors");
    epochs_ = static_cast<std::atomic<std::uint32_t>*>(at);
  }
  ~fd_epochs() { ::munmap(static_cast<void*>(epochs_), bytes); }
  fd_epochs(const fd_epochs&) = delete;
  fd_epochs& operator=(const fd_epochs&) = delete;

  [[nodiscard]] std::uint32_t of(int fd) const noexcept {
    // acquire: pairs with renew(), through the kernel that gave the number again
    return at(fd).load(std::memory_order_acquire);
  }
  /// Counts up a number's epoch. Call it before the number is closed, or when it names a new file.
  void renew(int fd) noexcept { at(fd).fetch_add(1, std::memory_order_release); }

 private:
  static constexpr std::size_t numbers = std::size_t{1}
                                         << 22;  // four times the kernel's usual limit
  static constexpr std::size_t bytes = numbers * sizeof(std::uint32_t);
  [[nodiscard]] std::atomic<std::uint32_t>& at(int fd) const noexcept {
    HEDDLE_ASSERT(static_cast<std::size_t>(fd) < numbers,
                  "descriptors beyond 4,194,304 need one worker; lower the limit on open files");
    return epochs_[fd];
  }
  std::atomic<std::uint32_t>* epochs_ = nullptr;
};

}  // namespace heddle

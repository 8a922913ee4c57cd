// SPDX-License-Identifier: MIT
// sendfile(2), and asking the page cache with preadv2(2).
#include "http/kernel_copy.hh"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include <cerrno>

#include "heddle/sched/runtime.hh"

namespace heddle::http {

kernel_copy::kernel_copy(int socket) noexcept
    : socket_(socket), mode_(runtime::here().io().simulated() ? -1 : ::fcntl(socket, F_GETFL)) {
  if (mode_ >= 0 && (mode_ & O_NONBLOCK) == 0 && ::fcntl(socket_, F_SETFL, mode_ | O_NONBLOCK) < 0)
    mode_ = -1;
}

kernel_copy::~kernel_copy() {
  if (mode_ >= 0 && (mode_ & O_NONBLOCK) == 0) ::fcntl(socket_, F_SETFL, mode_);
}

bool kernel_copy::in_memory(int file, std::uint64_t at, std::size_t size) noexcept {
  for (const std::uint64_t where : {at, at + size - 1}) {
    char byte;
    const ::iovec into{&byte, 1};
    if (::preadv2(file, &into, 1, static_cast<off_t>(where), RWF_NOWAIT) != 1) return false;
  }
  return true;
}

std::int64_t kernel_copy::send(int file, std::uint64_t at, std::size_t size) const noexcept {
  auto from = static_cast<off_t>(at);
  const ssize_t sent = ::sendfile(socket_, file, &from, size);
  return sent < 0 ? -errno : sent;
}

}  // namespace heddle::http

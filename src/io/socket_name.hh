// SPDX-License-Identifier: MIT
// The addresses of a socket's two ends.
#pragma once

#include <sys/socket.h>

#include "heddle/io/address.hh"
#include "heddle/sched/detail/here.hh"

namespace heddle::detail {

/// The address of one end; empty if the system gives none, or one of a family that is not IP.
inline address socket_name(int fd,
                           int (driver::*ask)(int, ::sockaddr*, unsigned*) noexcept) noexcept {
  sockaddr_storage native{};
  unsigned len = sizeof native;
  auto* out = reinterpret_cast<::sockaddr*>(&native);
  if (fd < 0 || (driver_here().*ask)(fd, out, &len) < 0) return {};
  return address::from(out, len).value_or(address()).unmapped();
}

}  // namespace heddle::detail

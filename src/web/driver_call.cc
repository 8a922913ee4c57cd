// SPDX-License-Identifier: MIT
// The file calls that need a header of the system.
#include "web/driver_call.hh"

#include <fcntl.h>

#include <cerrno>

namespace heddle::http {

stat_open::stat_open(int file, struct ::statx& out) noexcept
    : one_operation(op_code::stat, file, "stat") {
  data = const_cast<char*>("");
  flags = AT_EMPTY_PATH;
  more = &out;
}

task<std::int64_t> read_uninterrupted(int file, void* out, std::size_t size, std::uint64_t from) {
  for (;;) {
    const std::int64_t got = co_await read_at(file, out, size, from);
    if (got != -EINTR) co_return got;
  }
}

}  // namespace heddle::http

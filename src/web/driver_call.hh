// SPDX-License-Identifier: MIT
// File calls of the static server, each one operation. Results are numbers, >= 0 or -errno, because
// a missing file is not exceptional for a web server. Paths and buffers must live until the call
// has ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/core/task.hh"
#include "heddle/io/call.hh"
#include "heddle/io/directory_entry.hh"

struct open_how;
struct statx;

namespace heddle::http {

/// Opens a path below a directory; how.resolve tells which kinds of path are refused.
struct open_beneath : heddle::one_operation {
  open_beneath(int root, const char* path, open_how& how) noexcept
      : one_operation(op_code::open, root, "open") {
    data = const_cast<char*>(path);
    more = &how;
  }
};

/// Reads the state of an open file.
struct stat_open : heddle::one_operation {
  stat_open(int file, struct ::statx& out) noexcept;
};

struct read_at : heddle::one_operation {
  read_at(int file, void* out, std::size_t size, std::uint64_t from) noexcept
      : one_operation(op_code::read, file, "read") {
    data = out;
    len = static_cast<std::uint32_t>(std::min(size, std::size_t{1} << 30));
    offset = std::min(from, at_cursor - 1);  // a place, never the cursor: refused by the system
  }
};

/// Reads a part of a file, again if a signal interrupts: bytes, 0 at the end, or -errno.
[[nodiscard]] task<std::int64_t> read_uninterrupted(int file, void* out, std::size_t size,
                                                    std::uint64_t from);

struct list_open : heddle::one_operation {
  list_open(int directory, std::vector<directory_entry>& out) noexcept
      : one_operation(op_code::list, directory, "list") {
    more = &out;
  }
};

}  // namespace heddle::http

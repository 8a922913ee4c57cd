// SPDX-License-Identifier: MIT
// Reads a file from its disk without the kernel's page cache (O_DIRECT), for a server that keeps
// its own cache: each byte would otherwise be in memory twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "heddle/core/task.hh"
#include "heddle/io/buffer.hh"

namespace heddle::http {

/// Fills the buffer from the beginning of an open file. Gives the bytes that were read: fewer if
/// the file is shorter, or -errno. If the file cannot be read directly, it is read through the page
/// cache.
[[nodiscard]] task<std::int64_t> read_directly(int file, byte_span into);

/// Checks that files in a folder can be read directly. Gives a text that says why not; empty if
/// they can, or the folder itself holds no file to try.
[[nodiscard]] std::string why_not_directly(int folder);

}  // namespace heddle::http

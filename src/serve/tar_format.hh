// SPDX-License-Identifier: MIT
// The bytes of a tar archive around its files (POSIX.1-2008, pax format): a head of 512 bytes
// before each file, zeros after it up to a multiple of 512, and 1,024 zeros at the end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heddle::serve {

struct archived_file {
  std::string path;  ///< UTF-8, with slashes; a folder's ends with one
  std::uint64_t size = 0;
  std::int64_t modified_s = 0;  ///< since 1970
  bool executable = false;
};

/// The head of one file or folder; with an extended one before it for a path above 100 bytes or a
/// size from 8 GiB.
[[nodiscard]] std::string tar_head(const archived_file& f);
/// The zeros after a file of `size` bytes.
[[nodiscard]] std::string tar_padding(std::uint64_t size);
[[nodiscard]] std::string tar_end();

}  // namespace heddle::serve

// SPDX-License-Identifier: MIT
// The bytes of a zip archive around its files (APPNOTE 6.3.3, methods stored; Zip64 where a number
// needs more than 32 bits): a head before each file, and the central directory at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serve/tar_format.hh"

namespace heddle::serve {

/// Thread: one at a time. Owns: the central directory, some 60 bytes and a path for each file.
class zip_format {
 public:
  /// The head of one file or folder. The checksum comes before the data, so that archives can be
  /// unpacked as they arrive.
  [[nodiscard]] std::string head(const archived_file& f, std::uint32_t crc);
  /// The archive's end, behind the last file.
  [[nodiscard]] std::string end() const;

 private:
  std::string directory_;
  std::uint64_t count_ = 0;
  std::uint64_t at_ = 0;  // bytes of the archive so far
};

}  // namespace heddle::serve

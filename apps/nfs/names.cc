// SPDX-License-Identifier: MIT
// Names that clients send, and the space that entries take in a listing. Both volumes and all
// procedures use them, so that they refuse the same.
#include "names.hh"

namespace nfs {

nfsstat3 name_status(std::string_view name) noexcept {
  if (name.size() > name_bytes_max) return nfsstat3::NFS3ERR_NAMETOOLONG;
  if (name.empty() || name.find('/') != name.npos || name.find('\0') != name.npos)
    return nfsstat3::NFS3ERR_INVAL;
  return nfsstat3::NFS3_OK;
}

bool is_dot_name(std::string_view name) noexcept { return name == "." || name == ".."; }

std::size_t listed_bytes(const listed& e, bool with_handles) noexcept {
  const auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
  std::size_t bytes = 4 + 8 + 4 + padded(e.name.size()) + 8;  // follows, fileid, name, cookie
  if (!with_handles) return bytes;
  bytes += 8;  // whether attributes and a handle follow
  if (e.attributes) bytes += 84;
  if (e.file) bytes += 4 + padded(e.file->data.size());
  return bytes;
}

}  // namespace nfs

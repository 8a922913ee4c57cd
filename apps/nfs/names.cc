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

nfsstat3 attributes_status(const nfs3::sattr3& a) noexcept {
  constexpr std::uint32_t second_ns = 1'000'000'000;
  constexpr std::uint32_t nobody = 0xffff'ffff;
  for (const nfs3::set_time* t : {&a.atime, &a.mtime})
    if (t->set_it == nfs3::time_how::SET_TO_CLIENT_TIME && t->time().nseconds >= second_ns)
      return nfsstat3::NFS3ERR_INVAL;
  return a.uid == nobody || a.gid == nobody ? nfsstat3::NFS3ERR_INVAL : nfsstat3::NFS3_OK;
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

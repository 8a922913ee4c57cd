// SPDX-License-Identifier: MIT
// Names of directory entries as clients send them: what is no name, and why.
#pragma once

#include <string_view>

#include "volume.hh"

namespace nfs {

/// NFS3_OK if a client may use this name for an entry to be found: NAMETOOLONG beyond
/// name_bytes_max, INVAL for an empty name or one with '/' or a zero byte (RFC 1813, 3.2).
[[nodiscard]] nfsstat3 name_status(std::string_view name) noexcept;

/// NFS3_OK if a client may set these attributes; INVAL for a time with more than a second of
/// nanoseconds, and for the user or group -1.
[[nodiscard]] nfsstat3 attributes_status(const nfs3::sattr3& a) noexcept;

/// Whether the name is "." or "..", which always exist and cannot be removed.
[[nodiscard]] bool is_dot_name(std::string_view name) noexcept;

/// The bytes of READDIR3resok and READDIRPLUS3resok around their entries: attributes, verifier, the
/// end of the list, eof; and of the reply's status.
inline constexpr std::uint32_t list_overhead = 4 + 88 + 8 + 4 + 4;

/// The verifier of all listings: cookies stay valid as long as their names (RFC 1813, 3.3.16).
inline constexpr nfs3::cookieverf3 list_verifier{};

/// The bytes of XDR that an entry takes in a listing (entry3, or entryplus3 with handles).
[[nodiscard]] std::size_t listed_bytes(const listed& e, bool with_handles) noexcept;

}  // namespace nfs

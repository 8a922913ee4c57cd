// SPDX-License-Identifier: MIT
// Handles of files: the file system's own handle (name_to_handle_at), sealed with a key of the
// server. They survive renames and restarts, and clients cannot make one.
//
//   byte 0: version, 1: number of the export, 2: bytes of the kernel's handle, 3: its type
//   then the kernel's handle, and 8 bytes of SipHash-2-4 over all before
#pragma once

#include <optional>
#include <string_view>

#include "heddle/base/siphash.hh"
#include "volume.hh"

namespace nfs {

/// The longest handle of a kernel that fits, in bytes.
inline constexpr std::size_t kernel_handle_bytes_max = NFS3_FHSIZE - 4 - 8;

/// A handle's contents. `kernel` lies in the handle that was read.
struct handle_parts {
  std::uint8_t export_number = 0;
  std::uint8_t type = 0;
  std::string_view kernel;
  std::uint64_t hash = 0;  ///< equal for equal handles; outsiders cannot predict it
};

/// Thread: any.
class handle_seal {
 public:
  explicit handle_seal(const heddle::siphash_key& key) noexcept : key_(key) {}

  /// Nothing if the kernel's handle is too long, or its type does not fit.
  [[nodiscard]] std::optional<handle> make(std::uint8_t export_number, int type,
                                           std::string_view kernel) const;
  /// Nothing if the handle was not made with this key.
  [[nodiscard]] std::optional<handle_parts> read(const handle& of) const noexcept;

 private:
  heddle::siphash_key key_;
};

/// The contents of a handle that handle_seal::read() has accepted before.
[[nodiscard]] handle_parts parts_of(const handle& accepted) noexcept;

}  // namespace nfs

// SPDX-License-Identifier: MIT
// class volume: the storage behind the server, as the procedures see it. `memory_volume` keeps
// everything in the program, for the simulation and the fuzzer; `disk_volume` is the file system.
//
// Each handle belongs to one color, and everything that concerns its object happens there: a
// procedure asks locate() for the color, enters it, opens the object, and works on it. So no state
// of an object is shared between workers.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/language.hh"
#include "heddle/core/context.hh"
#include "heddle/core/task.hh"
#include "heddle/io/chain.hh"
#include "nfs3.hh"

namespace nfs {

using nfs3::nfsstat3;
using handle = nfs3::nfs_fh3;  ///< at most 64 bytes; clients cannot make or change one

/// A value, or the status that the client gets instead.
template <class T>
using outcome = std::expected<T, nfsstat3>;

/// Who asks, after the export's rules: user, group and at most 16 further groups.
struct identity {
  std::uint32_t uid = 65534;
  std::uint32_t gid = 65534;
  std::vector<std::uint32_t> gids;
  friend bool operator==(const identity&, const identity&) = default;
};

/// The longest transfer of READ and WRITE, in bytes.
inline constexpr std::uint32_t transfer_bytes_max = 1 << 20;
/// The longest name of a directory's entry, and the longest text of a symbolic link, in bytes.
inline constexpr std::size_t name_bytes_max = 255;
inline constexpr std::size_t link_bytes_max = 4095;

/// The place of a handle: its export, and the color that owns its object.
struct handle_place {
  std::uint32_t export_number = 0;
  heddle::color color;
};

/// An object in use: a file, directory or link that stays open as long as somebody has it.
///
/// Thread: the color of its handle.
class object {
 public:
  virtual ~object() = default;
};
using object_ptr = std::shared_ptr<object>;

/// A name that was found or made.
struct found {
  handle file;
  nfs3::post_op_attr attributes;
};

/// Bytes of a file.
struct read_data {
  heddle::chain bytes;  ///< no other chain shares its pieces, so it may go to another color
  bool end = false;     ///< nothing follows
};

/// One entry of a directory. `file` and `attributes` are there if they were asked for and known.
struct listed {
  std::uint64_t fileid = 0;
  std::string name;
  std::uint64_t cookie = 0;  ///< a listing from this cookie goes on after the entry
  nfs3::post_op_fh3 file;
  nfs3::post_op_attr attributes;
};
struct listing {
  std::vector<listed> entries;
  bool end = false;  ///< no entry follows
};

/// The part of a directory that a listing asks for.
struct list_request {
  std::uint64_t cookie = 0;  ///< 0: from the start
  /// Bytes of XDR that the entries may take, as entry3 or entryplus3. At least one entry is given
  /// if it fits.
  std::size_t bytes_max = 8192;
  std::size_t names_bytes_max = ~std::size_t{0};  ///< bytes of fileids, names and cookies alone
  bool with_handles = false;                      ///< READDIRPLUS
};

/// Numbers of a file system: bytes and files, in all, free, and free for ordinary users.
struct space {
  std::uint64_t bytes = 0, bytes_free = 0, bytes_available = 0;
  std::uint64_t files = 0, files_free = 0, files_available = 0;
};
struct limits {
  std::uint64_t file_bytes_max = 0;
  std::uint32_t links_max = 0;
  std::uint32_t name_bytes_max = nfs::name_bytes_max;
  bool symbolic_links = true;
  bool chown_restricted = true;    ///< only root may give files away
  nfs3::nfstime3 time_unit{0, 1};  ///< the resolution of times
};

/// Thread: locate(), root() and verifier(): any. Others: the color of the first object's handle; a
///   second directory is given by its handle, because another color owns its object.
/// Cancel: a change that has begun is made.
/// Fails: with a status of RFC 1813. `seen` gets the directory's (or the file's) attributes right
///   before and after a change, also when it fails, as far as they are known. Changes of one object
///   happen one after another, so that `seen` is exact among this volume's callers.
/// A name is one component: callers have checked it (see name_status() in names.hh), except that
///   lookup() takes "." and "..".
class volume {
 public:
  virtual ~volume() = default;

  /// Whether this volume made the handle, and its place then; no object is looked at.
  [[nodiscard]] virtual std::optional<handle_place> locate(const handle& of) const noexcept = 0;
  /// The handle of an export's root directory. Exports are numbered from 0.
  [[nodiscard]] virtual handle root(std::uint32_t export_number) const = 0;
  /// Another value after each start, and after each loss of written data (RFC 1813, 3.3.7).
  [[nodiscard]] virtual nfs3::writeverf3 verifier() const noexcept = 0;

  /// Fails with STALE if the object is gone.
  [[nodiscard]] virtual heddle::task<outcome<object_ptr>> open(const handle& of) = 0;
  [[nodiscard]] virtual heddle::task<outcome<nfs3::fattr3>> attributes(object& of) = 0;
  /// Changes the attributes that are given. With a guard, fails with NOT_SYNC if the object's ctime
  /// is another.
  [[nodiscard]] virtual heddle::task<outcome<void>> set(object& of, const nfs3::sattr3& to,
                                                        const std::optional<nfs3::nfstime3>& guard,
                                                        const identity& who,
                                                        nfs3::wcc_data& seen) = 0;
  /// The bits of `wanted` (ACCESS3_READ and so on) that are allowed.
  [[nodiscard]] virtual heddle::task<outcome<std::uint32_t>> access(object& of,
                                                                    std::uint32_t wanted,
                                                                    const identity& who) = 0;

  [[nodiscard]] virtual heddle::task<outcome<found>> lookup(object& dir, const std::string& name,
                                                            const identity& who) = 0;
  /// The text of a symbolic link; INVAL for another object.
  [[nodiscard]] virtual heddle::task<outcome<std::string>> read_link(object& of,
                                                                     const identity& who) = 0;

  /// At most `count` bytes from a place; fewer only at the end. INVAL if the object is no file,
  /// ISDIR if it is a directory.
  [[nodiscard]] virtual heddle::task<outcome<read_data>> read(object& of, std::uint64_t at,
                                                              std::uint32_t count,
                                                              const identity& who) = 0;
  /// Writes all bytes, and gives how stable they are: at least as asked. It reads `data` only, and
  /// makes no copies of its pieces, which are counted in the caller's color.
  [[nodiscard]] virtual heddle::task<outcome<nfs3::stable_how>> write(object& of, std::uint64_t at,
                                                                      const heddle::chain& data,
                                                                      nfs3::stable_how how,
                                                                      const identity& who,
                                                                      nfs3::wcc_data& seen) = 0;
  /// Makes all that was written stable. Calls that wait together share one sync.
  [[nodiscard]] virtual heddle::task<outcome<void>> commit(object& of, nfs3::wcc_data& seen) = 0;

  [[nodiscard]] virtual heddle::task<outcome<found>> create(object& dir, const std::string& name,
                                                            const nfs3::createhow3& how,
                                                            const identity& who,
                                                            nfs3::wcc_data& seen) = 0;
  [[nodiscard]] virtual heddle::task<outcome<found>> make_directory(object& dir,
                                                                    const std::string& name,
                                                                    const nfs3::sattr3& with,
                                                                    const identity& who,
                                                                    nfs3::wcc_data& seen) = 0;
  [[nodiscard]] virtual heddle::task<outcome<found>> make_link(object& dir, const std::string& name,
                                                               const nfs3::symlinkdata3& link,
                                                               const identity& who,
                                                               nfs3::wcc_data& seen) = 0;
  /// A pipe, a socket or a device; BADTYPE for others.
  [[nodiscard]] virtual heddle::task<outcome<found>> make_node(object& dir, const std::string& name,
                                                               const nfs3::mknoddata3& what,
                                                               const identity& who,
                                                               nfs3::wcc_data& seen) = 0;
  /// ISDIR for a directory.
  [[nodiscard]] virtual heddle::task<outcome<void>> remove(object& dir, const std::string& name,
                                                           const identity& who,
                                                           nfs3::wcc_data& seen) = 0;
  /// NOTDIR for another object, NOTEMPTY for a directory with entries.
  [[nodiscard]] virtual heddle::task<outcome<void>> remove_directory(object& dir,
                                                                     const std::string& name,
                                                                     const identity& who,
                                                                     nfs3::wcc_data& seen) = 0;
  [[nodiscard]] virtual heddle::task<outcome<void>> rename(
      object& from, const std::string& name, const handle& to, const std::string& to_name,
      const identity& who, nfs3::wcc_data& from_seen, nfs3::wcc_data& to_seen) = 0;
  /// A further name of a file.
  [[nodiscard]] virtual heddle::task<outcome<void>> link(object& of, const handle& dir,
                                                         const std::string& name,
                                                         const identity& who,
                                                         nfs3::wcc_data& dir_seen) = 0;

  /// A part of a directory, with "." and "..". TOOSMALL if not even one entry fits.
  [[nodiscard]] virtual heddle::task<outcome<listing>> list(object& dir, list_request what,
                                                            const identity& who) = 0;
  [[nodiscard]] virtual heddle::task<outcome<nfs::space>> space(object& of) = 0;
  [[nodiscard]] virtual heddle::task<outcome<nfs::limits>> limits(object& of) = 0;
};

}  // namespace nfs
